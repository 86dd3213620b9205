"""The command itself: its help, what it loads, and how it fails."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from dataclasses import fields
from pathlib import Path

import pytest
from commands import EXPLAIN, PYTHON, SCAN, Command
from golden import assert_golden
from runs import finish, make_run

from anchorscope import registry
from anchorscope.cli import main, make_parsers
from anchorscope.cli.options import FORMS_HELP, PLUG_HELP
from anchorscope.settings import PLUGS, PRESETS, Settings
from anchorscope.settings.choices import _NAMED

ROOT = Path(__file__).parent.parent.parent


# The command itself


def test_traceback_only_on_demand(workplace: Path) -> None:
    command = [*PYTHON, "explain", "nowhere.csv", "--model", "models:good"]
    plain = subprocess.run(command, cwd=workplace, capture_output=True, text=True)
    verbose = subprocess.run([*command, "-v"], cwd=workplace, capture_output=True, text=True)
    assert (plain.returncode, verbose.returncode) == (2, 2)
    assert "Traceback" not in plain.stderr and "Traceback" in verbose.stderr


def test_reader_that_goes_away(run: Command, workplace: Path) -> None:
    run(*SCAN, "--out", "run")
    command = subprocess.Popen([*PYTHON, "top", "run"], cwd=workplace, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout and command.stderr
    command.stdout.close()
    assert command.stderr.read() == b"" and command.wait() == 141
    command.stderr.close()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0 and capsys.readouterr().out == f"anchorscope {version('anchorscope')}\n"


def test_import_is_quick_and_light() -> None:
    """Best of three: `import anchorscope` under 0.3 s; the command line loads what every run needs, and no more."""
    code = (
        "import time; start = time.perf_counter(); import anchorscope; spent = time.perf_counter() - start\n"
        "import anchorscope.cli, sys, json; anchorscope.cli.make_parsers(['explain'])\n"
        "print(json.dumps([spent, sorted({name.partition('.')[0] for name in sys.modules})]))"
    )
    found = [json.loads(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3)]
    assert min(spent for spent, _ in found) < 0.3
    heavy = {"torch", "sklearn", "skops", "transformers", "onnxruntime", "pandas", "fastapi", "loky", "scipy"}
    assert not heavy & set(found[0][1])


def help_page() -> str:
    pages = [f"## {p.prog}\n\n```\n{p.format_help().rstrip()}\n```\n" for p in make_parsers().values()]
    head = "# The command line\n\nThis page is written by `REWRITE_GOLDEN=1 pytest tests/cli/test_cli.py`.\n"
    return "\n".join([head, *pages])


def without_plugs(page: str) -> str:
    """A page of help without the names of what is in the registry: a new one is no change of the help."""
    told = " ".join(page.split())
    for introduction in (*PLUG_HELP.values(), FORMS_HELP):
        told = re.sub(re.escape(f"{introduction}:") + r" [\w-]+(, [\w-]+)*", introduction, told)
    return told


def test_help_is_in_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    assert_golden(ROOT / "docs" / "cli.md", help_page(), but=without_plugs)


def test_the_docs_name_no_plug_that_is_not_there() -> None:
    page = " ".join((ROOT / "docs" / "cli.md").read_text(encoding="utf-8").split())
    for kind, introduction in PLUG_HELP.items():
        lists = re.findall(re.escape(f"{introduction}:") + r" ([\w-]+(?:, [\w-]+)*)", page)
        assert lists and {name for told in lists for name in told.split(", ")} <= set(registry.names(kind)), kind


def test_a_new_name_is_no_change_of_the_help() -> None:
    page = "{}: av, pr-inverse,\n      total (total)\n  --alpha X".format(PLUG_HELP["aggregation"])
    assert without_plugs(page) == without_plugs(page.replace("total (", "medium,\n total ("))
    assert without_plugs(page) != without_plugs(page.replace("--alpha", "--beta"))


def test_every_setting_has_an_option_and_every_name_is_in_the_help() -> None:
    page = make_parsers()["explain"].format_help()
    for field in fields(Settings):
        option = "--label" if field.name == "labels" else "--" + field.name.replace("_", "-")
        assert f"  {option} " in page, option
    words = set(page.replace(",", " ").replace("(", " ").replace(")", " ").replace(":", " ").replace(";", " ").split())
    plugs = [name for kind in PLUGS for name in registry.names(kind)]
    named = [*plugs, *PRESETS, *(name for known in _NAMED.values() for name in known)]
    assert not set(named) - words


def test_no_default_is_told_twice() -> None:
    for parser in make_parsers().values():
        assert not re.search(r"\([\d.]+\)\s+\([\d.]+\)", parser.format_help())


def test_every_switch_is_in_the_docs() -> None:
    page = (ROOT / "docs" / "switches.md").read_text(encoding="utf-8")
    given = {"seed", "labels", "top_k", "aggregation"}
    missing = [f.name for f in fields(Settings) if f.name not in given and f"--{f.name.replace('_', '-')}" not in page]
    assert not missing


def test_a_warning_of_ours_is_a_sentence(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from anchorscope.cli import inputs

    made = inputs.Run

    def warned(*given: object, **named: object) -> object:
        warnings.warn("Mind the gap.", stacklevel=2)
        return made(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(inputs, "Run", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert "anchorscope: Mind the gap.\n" in run(*EXPLAIN).err
        assert run(*EXPLAIN, "-q").err == ""


def test_unexpected_failure_is_one_sentence(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from anchorscope.cli import inputs

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr(inputs, "Run", broken)
    done = run(*EXPLAIN)
    assert done.status == 1
    assert (
        done.err == "anchorscope: error: ZeroDivisionError: oh\\nno (this should not happen; -v shows where it did)\n"
    )


def test_a_full_standard_output_is_named(tmp_path: Path) -> None:
    """The error is that of the place where results go, and no number of the system's."""
    finish(make_run(folder=tmp_path / "run"))
    command = [sys.executable, "-m", "anchorscope", "top", str(tmp_path / "run")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "anchorscope: error: What was found cannot be written to standard output (No space left on device); make room "
        "there, or send it elsewhere.\n"
    )
