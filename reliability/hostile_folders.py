"""Run folders of people who mean harm: does any command run their code, touch other files, or hang?

Every folder is a copy of a real run in which one thing was changed (``planted.py``): files that are links, pipes or
sockets, databases with other tables or a hot journal that names somebody's file, changed bytes and cells, models and
permissions that only the folder names. Each command is given each folder, in this process, under an audit hook that
sees what Python starts and what it opens for writing. A command may answer or refuse in one sentence. The only files
that may change are those that it writes (a reader: its report or its evaluation). Every other folder is that of a run
which has not come to its end, so that there is something to go on with. ``serve`` is the real server, and somebody asks
it for its view. Three controls show that there is something to be seen: a hot journal that is opened as usual deletes
the file, a pickle that is allowed by name sings, and a page of a folder that nobody looked at has no view.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import resource
import shutil
import socket
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from http.client import OK, HTTPConnection
from multiprocessing.pool import AsyncResult, Pool
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import uvicorn

from anchorscope import cli
from anchorscope.asking.kept_answers import VARIABLE
from anchorscope.files import JOURNAL, read_regular
from anchorscope.report.live import LiveRun
from anchorscope.report.server import make_server
from anchorscope.result import is_finished
from reliability.planted import EVALUATION, KEPT, KINDS, OFTEN, REPORT, RESULT, VICTIM, Plant
from reliability.tables import ROOT, Study, options

SECONDS = 60.0
"""A folder on which all commands together take longer hangs."""

RESIDENT = 3 << 29
"""Bytes of memory beyond which a small folder has asked for too much."""

MEMORY = 8 << 30
"""Bytes of addresses that a process may ask for."""

TEXTS = ("a great film", "a bad film", "great great cast", "bad plot", "so great so bad", "film and cast", "a plot")
MODEL = ("--model", "reliability.models:keywords", "--labels", "no,yes")
EXPLAIN = (
    "--preset",
    "banzhaf",
    "--perturbator",
    "corpus",
    "--min-occurrences",
    "1",
    "--stop-words",
    "none",
    "--round-size",
    "3",
    "-q",
)

COMMANDS: dict[str, tuple[str, ...]] = {
    "top": ("top", "RUN"),
    "top, csv": ("top", "RUN", "--format", "csv", "--aggregation", "excess"),
    "report": ("report", "RUN"),
    "report elsewhere": ("report", "RUN", "--to", "ELSEWHERE"),
    "compare": ("compare", "REAL", "RUN"),
    "evaluate": ("evaluate", "RUN"),
    "evaluate, its documents": ("evaluate", "RUN", *MODEL, "--yes"),
    "evaluate, all named": ("evaluate", "RUN", "--docs", "DOCS", *MODEL, "--cache", "--json"),
    "evaluate, refilled": ("evaluate", "RUN", "--docs", "DOCS", *MODEL, "--removal", "fill"),
    "evaluate, over time": ("evaluate", "RUN", "--docs", "DOCS", *MODEL, "--over-time"),
    "kept, json": ("explain", "--out", "RUN", "--resume", "--json"),
    "kept, in words": ("explain", "--out", "RUN", "--resume", "-v"),
    "serve": ("serve", "RUN"),
    "serve, to try": ("serve", "RUN", *MODEL),
    "resume": ("explain", "DOCS", *MODEL, *EXPLAIN, "--cache", "--out", "RUN", "--resume"),
}
"""Each command, with the places where the folder, a sound one and the documents go."""

WRITTEN = "written"
"""The folder beside the run to which a command is told to write."""

STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pickle.find_class")
"""What is seen when code of somebody else is begun."""


def main() -> int:
    """Run the study."""
    given = options(__doc__, folders=600, processes=2).parse_args()
    kinds = [*KINDS, *(OFTEN[i % len(OFTEN)] for i in range(given.folders - len(KINDS)))]
    kinds = kinds[: len(KINDS) : 6] if given.quick else kinds
    study = Study(
        "hostile_folders",
        f"{len(kinds)} hostile run folders, each command",
        "no code run, no file outside touched, no hang; an answer or one sentence",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        make_real(Path(scratch))
        check_controls(Path(scratch))
        with multiprocessing.get_context("spawn").Pool(given.processes, watch) as pool:
            return campaign(study, Path(scratch), kinds, pool)


def campaign(study: Study, scratch: Path, kinds: Sequence[str], pool: Pool) -> int:
    """All folders; every kind once, and then those in which chance has a say."""
    jobs: list[AsyncResult[dict[str, Any]]] = [
        pool.apply_async(try_folder, (scratch, number, kind, study.seed)) for number, kind in enumerate(kinds)
    ]
    for number, (kind, job) in enumerate(zip(kinds, jobs)):
        try:
            study.add(**job.get(SECONDS if number else 2 * SECONDS))
        except multiprocessing.TimeoutError:
            study.add(folder=number, kind=kind, findings=["it hangs"])
    n_bad = sum(bool(row["findings"]) for row in study.rows)
    n_commands = sum(row.get("commands", 0) for row in study.rows)
    n_refused = sum(row.get("refused", 0) for row in study.rows)
    slowest = max(row.get("seconds", SECONDS) for row in study.rows)
    return study.end(
        reached=not n_bad,
        found=f"{len(kinds)} folders of {len({*kinds})} kinds, {n_commands:,} commands ({n_refused:,} refused in a "
        f"sentence): {n_bad} findings; at most {slowest:.1f} s a folder; the controls sing",
    )


def make_real(scratch: Path) -> None:
    """A sound run, the same before its last round, as an interrupt leaves it, and their documents."""
    (scratch / "documents.csv").write_text("text\n" + "".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    arguments = placed(COMMANDS["resume"], scratch / "real", scratch)
    with redirect_stdout(io.StringIO()):
        assert cli.main(arguments) == 0
    begun = Path(shutil.copytree(scratch / "real", scratch / "begun"))
    result = (begun / RESULT).read_text(encoding="utf-8")
    (begun / RESULT).write_text(result.replace('"finished": true', '"finished": false'), encoding="utf-8")
    with closing(sqlite3.connect(begun / JOURNAL)) as db, db:
        for table, column in (
            ("measurements", "round"),
            ("skips", "round"),
            ("moments", "round"),
            ("rounds", "number"),
        ):
            db.execute(f"DELETE FROM {table} WHERE {column} = (SELECT max(number) FROM rounds)")
        for table in ("evidence", "texts"):
            db.execute(f"DELETE FROM {table}")
    assert is_finished(scratch / "real") and not is_finished(begun)


def check_controls(scratch: Path) -> None:
    """What the folders do to those who open them without care."""
    plant = _planted(scratch / "control", scratch, "a hot journal", 0)
    with closing(sqlite3.connect(plant.folder / JOURNAL)) as db:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    assert not plant.victim.exists()
    shutil.rmtree(scratch / "control")
    plant = _planted(scratch / "control", scratch, "a pickle as model", 0)
    named = ["--model", str(plant.folder / "model.pkl"), "--allow-pickle"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        cli.main(["evaluate", str(plant.folder), "--docs", str(scratch / "documents.csv"), *named])
    assert plant.canary.exists()
    shutil.rmtree(scratch / "control")
    plant = _planted(scratch / "control", scratch, "a cost with commands to a terminal", 0)
    server, listener, _ = visited(LiveRun(plant.folder), port=0)
    server.run(sockets=[listener])
    assert _seen == ["the page has no view: 422"]
    shutil.rmtree(scratch / "control")


def placed(command: tuple[str, ...], run: Path, scratch: Path) -> list[str]:
    """A command with its folders and files."""
    places = {"RUN": str(run), "REAL": str(scratch / "real"), "DOCS": str(scratch / "documents.csv")}
    places["ELSEWHERE"] = str(run.parent / WRITTEN / "page.html")
    return [places.get(word, word) for word in command]


# --- in a process of the pool ---

_seen: list[str] = []
_own: list[str] = []


def watch() -> None:
    """Look at what Python does in this process, and limit its memory."""
    from anchorscope.report import server

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    server.make_server = visited  # type: ignore[assignment]
    sys.path.insert(0, str(ROOT))
    sys.addaudithook(_look)


def visited(live: LiveRun, *, port: int | None) -> tuple[uvicorn.Server, socket.socket, str]:
    """The server of a page, on any port, that ends when somebody has asked for what the page shows."""
    server, listener, address = make_server(live, port=0)
    Thread(target=_visit, args=(server, address), daemon=True).start()
    return server, listener, address


def _visit(server: uvicorn.Server, address: str) -> None:
    base, _, token = address.partition("/?token=")
    port = base.rpartition(":")[2]
    while not server.started:
        sleep(0.01)
    page = HTTPConnection("127.0.0.1", int(port), timeout=SECONDS)
    page.request("GET", "/view.json", headers={"Cookie": f"anchorscope-{port}={token}"})
    if (status := page.getresponse().status) != OK:
        _seen.append(f"the page has no view: {status}")
    page.close()
    server.should_exit = True


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if not _own:
        return
    if event in STARTS:
        _seen.append(f"{event} {str(arguments)[:80]}")
    elif event == "open" and isinstance(arguments[0], str) and _is_write(arguments[2]):
        path = os.path.realpath(arguments[0])
        if not path.startswith(tuple(_own)) and path != os.devnull:
            _seen.append(f"opened {path} for writing")


def _is_write(flags: Any) -> bool:
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def try_folder(scratch: Path, number: int, kind: str, seed: int) -> dict[str, Any]:
    """Every command on one folder; each gets a fresh copy, as one may leave it changed."""
    begun = monotonic()
    findings: list[str] = []
    statuses: list[int] = []
    resident = _most_resident()
    for name, command in COMMANDS.items():
        here = scratch / str(number)
        plant = _planted(here, scratch, kind, number, seed)
        outside = _contents(plant.outside)
        status, found = _run(plant, placed(command, plant.folder, scratch))
        statuses.append(status)
        findings += [f"{name}: {finding}" for finding in (*found, *_changed(plant, outside), *_lost(plant))]
        shutil.rmtree(here)
    if (most := _most_resident()) > max(resident, RESIDENT):
        findings.append(f"it took {most >> 20:,} MiB of memory")
    return {
        **{"folder": number, "kind": kind, "commands": len(statuses), "refused": sum(map(bool, statuses))},
        **{"seconds": round(monotonic() - begun, 2), "findings": findings},
    }


def _most_resident() -> int:
    """The bytes of memory that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _planted(here: Path, scratch: Path, kind: str, number: int, seed: int = 0) -> Plant:
    """A copy of a run, spoilt, beside a folder that must not be touched."""
    outside = here / "outside"
    outside.mkdir(parents=True)
    (here / WRITTEN).mkdir()
    (outside / VICTIM).write_text("precious", encoding="utf-8")
    copy = Path(shutil.copytree(scratch / ("begun" if number % 2 else "real"), here / "run"))
    plant = Plant(copy, outside, random.Random(f"{seed} {number}"))
    KINDS[kind](plant)
    return plant


def _run(plant: Plant, arguments: list[str]) -> tuple[int, list[str]]:
    """The exit status of a command, and what it should not have done."""
    before = _state(plant.folder)
    said = io.StringIO()
    _seen.clear()
    os.environ[VARIABLE] = str(kept) if (kept := plant.folder.parent / KEPT).exists() else "off"
    _own[:] = [str(plant.folder), str(plant.folder.parent / WRITTEN), *_temporary()]
    try:
        with redirect_stdout(output := io.StringIO()), redirect_stderr(said):
            status = cli.main(arguments)
    except BaseException as error:
        return 1, [f"it raised {type(error).__name__}: {error}"]
    finally:
        _own.clear()
    findings = [*_seen]
    told = said.getvalue()
    errors = [line for line in told.splitlines() if line.startswith("anchorscope: error: ")]
    odd = ("should not happen", "\x1b", *(["Traceback"] if "-v" not in arguments else []))
    if status not in (0, 1, 2) or any(one in told for one in odd) or len(errors) != (status > 0):
        findings.append(f"status {status}: {told[-300:]!r}")
    if status and arguments[0] == "serve" and output.getvalue():
        findings.append("a page was announced that cannot be shown")
    if arguments[0] != "explain" and (changed := sorted(_state(plant.folder).items() ^ before.items())):
        findings += [f"{name} changed" for name in {name for name, _ in changed} - {REPORT, EVALUATION}]
    return status, findings


def _temporary() -> list[str]:
    """Where private copies go."""
    return [os.path.join(os.path.realpath(tempfile.gettempdir()), "anchorscope-")]


def _changed(plant: Plant, before: Mapping[str, bytes]) -> list[str]:
    """What has become of what must not be touched."""
    found = _contents(plant.outside)
    return [] if found == before else [f"outside there is now {sorted(found)}, and it has changed"]


def _lost(plant: Plant) -> list[str]:
    """The files of somebody else in the folder that a command has changed."""
    found = {name: (plant.folder / name).read_bytes() for name in plant.theirs if (plant.folder / name).is_file()}
    return [
        f"{name} was somebody else's, and has changed" for name in plant.theirs if found.get(name) != plant.theirs[name]
    ]


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _state(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Every entry of a folder: its kind, and of a file its size, time and first bytes."""
    state = {}
    for entry in os.scandir(folder):
        about = entry.stat(follow_symlinks=False)
        is_file = stat.S_ISREG(about.st_mode)
        head = read_regular(Path(entry.path), at_most=1 << 62, first=1 << 20) if is_file else b""
        state[entry.name] = (stat.S_IFMT(about.st_mode), about.st_size, about.st_mtime_ns if is_file else 0, head)
    return state


if __name__ == "__main__":
    raise SystemExit(main())
