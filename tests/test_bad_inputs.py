"""Bad input of every kind is one sentence and status 2, with nothing left behind: the cases of the study."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from reliability import bad_inputs

CASES = bad_inputs.cases()


@pytest.fixture(scope="module", autouse=True)
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder with every file that the cases name."""
    before = os.getcwd()
    folder = tmp_path_factory.mktemp("bad")
    os.chdir(folder)
    bad_inputs.make_files(folder)
    yield
    os.chdir(before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.needs_process])
def test_bad_input_is_one_sentence(name: str) -> None:
    found = bad_inputs.judged(CASES[name])
    assert found["as_promised"], found


def test_a_closed_output_is_said() -> None:
    found = bad_inputs.judged(CASES["stream: standard output closed"])
    assert found["as_promised"], found


@pytest.mark.parametrize("name", [name for name in CASES if "to workers" in name or "streams" in name])
def test_a_model_that_cannot_be_taken_along_or_closes_streams_gets_one_line(name: str) -> None:
    found = bad_inputs.judged(CASES[name])
    assert found["as_promised"], found


@pytest.mark.parametrize("name", [name for name in CASES if "hangs" in name or "thread" in name])
def test_a_model_that_hangs_is_not_waited_for(name: str) -> None:
    found = bad_inputs.judged(CASES[name])
    assert found["as_promised"], found


def test_there_are_a_hundred_and_more() -> None:
    assert len(CASES) > 100
