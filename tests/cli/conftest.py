"""A folder with documents and models, and the command called in it."""

from __future__ import annotations

import csv
import pickle
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from commands import Command, Outcome

from anchorscope.cli import main

MODELS = '''
"""Models that write down every call, a line with the number of texts; "yes" iff *great* occurs."""
import time
import numpy as np
from sklearn.base import BaseEstimator

def rows(texts):
    with open("calls", "a") as file:
        print(len(texts), file=file)
    yes = np.array(["great" in text for text in texts], float)
    return np.stack([1 - yes, yes], axis=1)

class Model:
    classes_ = ["no", "yes"]
    def predict_proba(self, texts):
        return rows(texts)

class Slow(Model):
    def predict_proba(self, texts):
        time.sleep(0.03)
        return rows(texts)

class Own(BaseEstimator):
    classes_ = np.array(["no", "yes"])
    def predict_proba(self, texts):
        return rows(texts)

class FailsLater(Model):
    n_calls = 0
    def predict_proba(self, texts):
        self.n_calls += 1
        if self.n_calls > 2:  # two documents, then the others
            raise RuntimeError("no more")
        return rows(texts)

class Chatty(Model):
    def predict_proba(self, texts):
        print("I am a model")
        return rows(texts)

good, slow, fails_later, chatty = Model(), Slow(), FailsLater(), Chatty()
function = rows
one_number = lambda texts: rows(texts)[:, 1]
one_row = lambda texts: rows(texts)[:1]
nan = lambda texts: rows(texts) * np.nan
infinite = lambda texts: rows(texts) + np.inf
negative = lambda texts: rows(texts) - 0.5
unsummed = lambda texts: rows(texts) * 0.7
three = lambda texts: np.hstack([rows(texts), np.zeros((len(texts), 1))])
'''

N_DOCUMENTS = 60


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents and models; *great* in every other document, *dull* in the rest."""
    import skops.io

    folder = tmp_path_factory.mktemp("workplace")
    (folder / "models.py").write_text(MODELS)
    texts = [f"a {'great' if i % 2 else 'dull'} film with number{i % 5} in it" for i in range(N_DOCUMENTS)]
    with (folder / "docs.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((text, "yes" if "great" in text else "no") for text in texts)])
    (folder / "empty.csv").write_text("")
    (folder / "blank.csv").write_text("text\n   \n\n")
    (folder / "gaps.csv").write_text((folder / "docs.csv").read_text() + '"",no\n"  ",no\n')
    (folder / "latin.csv").write_bytes("text\ncaf\xe9\n".encode("latin-1"))
    (folder / "model.bin").write_bytes(b"?")
    sys.path.insert(0, str(folder))
    from models import Own  # type: ignore[import-not-found]

    skops.io.dump(Own(), folder / "own.skops")
    (folder / "own.pkl").write_bytes(pickle.dumps(Own()))
    skops.io.dump(_pipeline(texts), folder / "model.skops")
    return folder


def _pipeline(texts: Sequence[str]) -> object:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, ["great" in text for text in texts])


@pytest.fixture
def run(workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """The command, called in the workplace; no calls of a model so far."""
    monkeypatch.chdir(workplace)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    Path("calls").write_text("")

    def call(*arguments: str) -> Outcome:
        status = main(arguments)
        return Outcome(status, *capsys.readouterr())

    yield call
    for folder in ("run", "other"):
        shutil.rmtree(folder, ignore_errors=True)
