"""Files in other people's folders: what is no regular file is refused at once, and no link is written through."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from runs import finish, make_run

from anchorscope.errors import RunFolderError
from anchorscope.files import (
    DRAFTS,
    copy_regular,
    is_path_of_folder,
    read_regular,
    refuse_foreign,
    refuse_irregular,
    remove_drafts,
    write_whole,
)
from anchorscope.journal import opening


def link(path: Path) -> None:
    """To a file that is there, and is not ours."""
    victim = path.parent / "victim"
    victim.write_text("precious")
    path.symlink_to(victim)


def dangling(path: Path) -> None:
    path.symlink_to(path.parent / "victim")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def listening(path: Path) -> None:
    here = socket.socket(socket.AF_UNIX)
    before = os.getcwd()
    os.chdir(path.parent)  # the path of a socket may not be long
    try:
        here.bind(path.name)
    finally:
        os.chdir(before)
        here.close()


IRREGULAR: dict[str, Callable[[Path], None]] = {
    "link": link,
    "dangling link": dangling,
    "pipe": pipe,
    "folder": folder,
    "socket": listening,
}


def yes(head: bytes) -> bool:
    return True


@pytest.mark.parametrize("kind", IRREGULAR)
def test_what_is_no_regular_file_is_refused(kind: str, tmp_path: Path) -> None:
    """Reading, writing and looking; a pipe that nobody writes to would be waited for for ever."""
    path = tmp_path / "result.json"
    IRREGULAR[kind](path)
    before = {name.name for name in tmp_path.iterdir()}
    for touch in (
        lambda: read_regular(path),
        lambda: refuse_irregular(path),
        lambda: refuse_foreign(path, yes),
        lambda: write_whole(path, "ours", is_ours=yes),
        lambda: copy_regular(path, tmp_path / "copy", at_most=100),
    ):
        with pytest.raises(RunFolderError, match="no regular file"):
            touch()
    assert {name.name for name in tmp_path.iterdir()} == before
    if kind == "link":
        assert (tmp_path / "victim").read_text() == "precious"


def test_a_device_is_not_even_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """To open one can be to use it: some rewind, some start a countdown."""
    monkeypatch.setattr(os, "open", None)
    with pytest.raises(RunFolderError, match="a device"):
        read_regular(Path("/dev/null"))


def test_a_missing_file_is_the_usual_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "nothing")
    assert not refuse_irregular(tmp_path / "nothing")
    refuse_foreign(tmp_path / "nothing", lambda head: False)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """Eleven bytes where ten are allowed; the first of them can still be read."""
    (tmp_path / "file").write_bytes(b"0123456789A")
    with pytest.raises(RunFolderError, match="has 11 bytes"):
        read_regular(tmp_path / "file", at_most=10)
    assert read_regular(tmp_path / "file", at_most=11, first=4) == b"0123"
    with pytest.raises(RunFolderError, match="11 bytes, which are too many to copy"):
        copy_regular(tmp_path / "file", tmp_path / "copy", at_most=10)


def test_holes_are_not_filled(tmp_path: Path) -> None:
    """Three gigabytes, of which nine bytes are there."""
    with open(tmp_path / "file", "wb") as file:
        file.write(b"begin")
        file.seek(1 << 31)
        file.write(b"more")
        file.truncate(3 << 30)
    copy_regular(tmp_path / "file", tmp_path / "copy", at_most=4 << 30)
    copied = (tmp_path / "copy").stat()
    assert copied.st_size == 3 << 30 and copied.st_blocks * 512 < 1 << 20
    with open(tmp_path / "copy", "rb") as copy:
        assert copy.read(6) == b"begin\0"
        copy.seek(1 << 31)
        assert copy.read(5) == b"more\0"


@pytest.mark.parametrize("size", [0, 1, 4096, (1 << 20) - 1, (3 << 20) + 5])
def test_a_copy_is_the_same(size: int, tmp_path: Path) -> None:
    data = os.urandom(size)
    (tmp_path / "file").write_bytes(data)
    copy_regular(tmp_path / "file", tmp_path / "copy", at_most=1 << 30)
    assert (tmp_path / "copy").read_bytes() == data


def test_what_does_not_fit_on_the_disk_is_not_copied(tmp_path: Path) -> None:
    """A file of holes takes no room here, and would take all of it there."""
    (tmp_path / "file").touch()
    os.truncate(tmp_path / "file", 1 << 42)
    with pytest.raises(RunFolderError, match="make room there"):
        copy_regular(tmp_path / "file", tmp_path / "copy", at_most=1 << 43)
    assert (tmp_path / "copy").stat().st_size == 0


def test_what_is_no_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="null byte"):
        refuse_irregular(tmp_path / "a\0b")
    with pytest.raises(ValueError):
        is_path_of_folder(tmp_path / "a\0b")
    assert is_path_of_folder(tmp_path) and not is_path_of_folder(tmp_path / "nothing")


# --- writing ---


def test_a_draft_is_made_anew_and_no_link_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has guessed the first name that is tried, and put a link there: the second is taken."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".result.json.guessed.part").symlink_to(victim)
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: iter(["guessed", "not-guessed"]))
    write_whole(tmp_path / "result.json", "ours", is_ours=yes)
    assert victim.read_text() == "precious"
    assert (tmp_path / "result.json").read_text() == "ours"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".result.json.guessed.part", "result.json", "victim"]


def test_nobody_can_foresee_the_name_of_a_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts: list[str] = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda old, new: (drafts.append(str(old)), replace(old, new)))
    for _ in range(50):
        write_whole(tmp_path / "result.json", "ours", is_ours=yes)
    assert len({*drafts}) == 50 and {Path(draft).parent for draft in drafts} == {tmp_path}


def test_a_draft_is_for_nobody_else_and_the_file_is_as_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft has mode 600, the file what a umask of 022 leaves of 666."""
    before = os.umask(0o022)
    modes: list[int] = []
    changed = os.chmod
    monkeypatch.setattr(os, "chmod", lambda path, mode: (modes.append(os.stat(path).st_mode), changed(path, mode)))
    try:
        write_whole(tmp_path / "result.json", "ours", is_ours=yes)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(mode) for mode in modes] == [0o600]
    assert stat.S_IMODE((tmp_path / "result.json").stat().st_mode) == 0o644


def test_a_file_that_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    """Its first bytes tell."""
    (tmp_path / "result.json").write_text("a letter")
    with pytest.raises(RunFolderError, match="no file that a run has written"):
        write_whole(tmp_path / "result.json", "ours", is_ours=lambda head: head.startswith(b"{"))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["a letter"]


def test_what_fails_leaves_no_draft(tmp_path: Path) -> None:
    """Half a character cannot be written: nothing is."""
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "result.json", "ours \ud800", is_ours=yes)
    assert not [*tmp_path.iterdir()]


def test_drafts_that_a_kill_left_are_removed_and_nothing_else(tmp_path: Path) -> None:
    """A kill in the middle of writing; links and other names stay, whoever made them."""
    kept = ["result.json", ".result.json.part", ".letter.abcdefgh.part", ".result.json.abcdefgh.part.bak", "x.part"]
    gone = [".result.json.abcdefgh.part", ".report.html.a_b0c1d2.part", ".evaluation.json.abcdefgh.part"]
    gone += [f".journal.sqlite.0123456789abcdef.part{end}" for end in ("", "-wal", "-shm", "-journal")]
    for name in (*kept, *gone):
        (tmp_path / name).touch()
    (tmp_path / ".report.html.linklink.part").symlink_to("result.json")
    remove_drafts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*kept, ".report.html.linklink.part"}


@pytest.mark.parametrize("finished", [True, False])
def test_whoever_goes_on_with_a_run_removes_them(finished: bool, tmp_path: Path) -> None:
    finish(make_run(folder=tmp_path / "run"), rounds=None if finished else 2)
    for name in (".result.json.abcdefgh.part", ".journal.sqlite.0123456789abcdef.part"):
        (tmp_path / "run" / name).touch()
    again = make_run(folder=tmp_path / "run", resume=True)
    if not finished:
        finish(again)
    assert not [path.name for path in (tmp_path / "run").iterdir() if path.name.endswith(".part")]


def test_the_name_of_a_draft_is_one_that_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is when the process is killed just before the draft takes its place."""
    names: list[str] = []
    monkeypatch.setattr(os, "replace", lambda old, new: names.append(Path(old).name))
    monkeypatch.setattr(os, "rename", lambda old, new: names.append(Path(old).name))
    for name in ("result.json", "evaluation.json", "report.html"):
        write_whole(tmp_path / name, "ours", is_ours=yes)
    opening._make(tmp_path / "journal.sqlite")
    assert len(names) == 4 and all(DRAFTS.fullmatch(name) for name in names)
