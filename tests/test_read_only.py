"""A finished run on a medium that cannot be written to: everything that reads can be asked of it."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest

from anchorscope import cli
from reliability.hostile_folders import COMMANDS, make_real, placed

NOBODY = 65534

READS = ("top", "top, csv", "report elsewhere", "compare", "evaluate, all named", "evaluate, refilled", "serve")


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    """Where others may look, unlike in the folders of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="read-only-"))
    folder.chmod(0o755)
    make_real(folder)
    (folder / "written").mkdir()
    (folder / "written").chmod(0o777)
    (folder / "real" / "evaluation.json").unlink(missing_ok=True)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Nothing in the folder can be made or changed; root can do so everywhere, and is somebody else meanwhile."""
    paths = [folder, *folder.iterdir()]
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        for path, mode in modes.items():
            path.chmod(mode)


@pytest.mark.parametrize("command", READS)
def test_a_finished_run_is_read_where_nothing_can_be_written(
    command: str, scratch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from anchorscope.report import server

    monkeypatch.setattr(server, "serve", lambda live, **_: live.view())
    arguments = placed(COMMANDS[command], scratch / "real", scratch)
    copy = Path(shutil.copytree(scratch / "real", scratch / "copy"))
    with redirect_stdout(io.StringIO()):
        cli.main(placed(COMMANDS[command], copy, scratch))  # loads what nobody may not read
    shutil.rmtree(copy)
    (scratch / "written" / "page.html").unlink(missing_ok=True)
    before = {path.name: path.stat().st_mtime_ns for path in (scratch / "real").iterdir()}
    capsys.readouterr()
    with unwritable(scratch / "real"):
        with pytest.raises(OSError):
            (scratch / "real" / "probe").touch()
        status = cli.main(arguments)
    told = capsys.readouterr()
    assert status == 0, told.err
    assert {path.name: path.stat().st_mtime_ns for path in (scratch / "real").iterdir()} == before
    if command.startswith("evaluate"):
        assert "what is printed is not kept" in told.err and told.out


def test_a_report_into_the_folder_says_why_not(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with unwritable(scratch / "real"):
        assert cli.main(["report", str(scratch / "real")]) == 1
    assert "cannot be written (Permission denied)" in capsys.readouterr().err
