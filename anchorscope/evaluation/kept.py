"""A kept run, together again with its documents and its model.

A run folder holds no documents but those of its evidence, and no model: it names them. They are read again from there,
or from where the caller says, and compared with what the run knew of them: the keys of the documents (hashes of their
texts) and the labels that the model gave them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.errors import RunFolderError, listed
from anchorscope.journal.database import reading
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.planning.collection import predict
from anchorscope.result import Result
from anchorscope.scoring.tally import Tally
from anchorscope.settings import Settings
from anchorscope.text.read import Documents
from anchorscope.types import Predictor

ANOTHER_MODEL = 0.01
"""The share of documents that a model may label otherwise than the run and still be its model: near-ties of torch."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptRun:
    """What a run found, the documents that it explained and the model that it explained.

    ``predicted`` and ``true`` are the numbers of the label that the model gives each text and of the one that came
    with it (-1 where none did, or one that the model does not know); ``tally`` is what its scores are read from, and
    ``moments`` are what it showed over time. ``documents`` are all that were read: where the run had few calls, it
    asked about some of them only, and ``texts`` are these.
    """

    folder: Path
    predictor: Predictor
    settings: Settings
    result: Result
    documents: Documents
    texts: tuple[str, ...]
    predicted: NDArray[np.int64]
    true: NDArray[np.int64]
    candidates: tuple[str, ...]
    tally: Tally
    moments: tuple[Mapping[str, Any], ...]
    perturbator: str

    def texts_of(self, label: str) -> list[str]:
        """The texts that the model gives a label: S[c]."""
        number = self.predictor.labels.index(label)
        return [text for text, given in zip(self.texts, self.predicted.tolist()) if given == number]


def kept_run(folder: Path, documents: Documents, predictor: Predictor) -> KeptRun:
    """The run in a folder with its documents and its model, once it is clear that they are the run's."""
    with closing(RunReader(folder)) as finished:
        meta = finished.meta
        labels = finished.labels
        rows = [*finished.documents(range(int(finished.documents_per_label().sum()))).values()]
        settings = finished.settings
        tally = Standings(finished, alpha=settings.alpha, k=settings.top_k).counted
        if not finished.counts_anchors:
            tally = tally.without_verdicts()
        candidates = finished.terms
        moments = tuple(finished.moments())
    result = Result.load(folder)
    _check_result(folder, result, labels, candidates)
    if predictor.labels != labels:
        raise RunFolderError(
            f"The model {predictor.name} has the labels {listed(predictor.labels)}, the run in {folder} had "
            f"{listed(labels)}; give the model of the run with --model."
        )
    by_key = {document.key: document.text for document in documents.documents}
    missing = sum(row[0] not in by_key for row in rows)
    if missing:
        raise RunFolderError(
            f"{missing} of the {len(rows)} documents of the run in {folder} are not in {documents.source}; name the "
            "right file with --docs, and read it as the run did (--text-column, --clean, --encoding)."
        )
    texts = tuple(by_key[row[0]] for row in rows)
    predicted = np.array([row[2] for row in rows], np.int64)
    _check_predictions(folder, predictor, texts, predicted)
    numbers = {label: number for number, label in enumerate(labels)}
    return KeptRun(
        folder=folder,
        predictor=predictor,
        settings=settings,
        result=result,
        documents=documents,
        texts=texts,
        predicted=predicted,
        true=np.array([numbers.get(row[1] or "", -1) for row in rows], np.int64),
        candidates=candidates,
        tally=tally,
        moments=moments,
        perturbator=meta["perturbator"]["name"],
    )


def _check_result(folder: Path, result: Result, labels: Sequence[str], candidates: Sequence[str]) -> None:
    """Journal and result are two files, and a folder may come from anywhere: what one ranks, the other has to know."""
    known = {*candidates}
    ranked = {term.term for explanation in result.explanations.values() for term in explanation.terms}
    if not {*result.explanations} <= {*labels} or not ranked <= known:
        raise RunFolderError(
            f"The result in {folder} is about other labels or terms than its journal; go on with --resume to write it."
        )


def sources(folder: Path) -> dict[str, Any]:
    """Where the run in a folder says that its documents (a list of files) and its model are, and how they were read."""
    with closing(RunReader(folder)) as finished, reading(folder):
        named = dict(finished.meta.get("sources", {}))
        documents = named.pop("documents", [])
        files = documents.split(", ") if isinstance(documents, str) else list(documents)  # older runs: one text
        for value in (*files, *named.values()):
            if not isinstance(value, str):
                raise TypeError(f"what it says of its sources is a value of type {type(value).__name__}")
    return {**named, "documents": files} if files and "-" not in files else named


def _check_predictions(
    folder: Path, predictor: Predictor, texts: tuple[str, ...], predicted: NDArray[np.int64]
) -> None:
    """Refuse a model that is not the run's; it is asked about every document once."""
    differing = int((predict(predictor, texts).labels != predicted).sum())
    if differing > ANOTHER_MODEL * len(texts):
        raise RunFolderError(
            f"The model {predictor.name} is another than that of the run in {folder}: it labels {differing} of "
            f"{len(texts)} documents differently; give the model of the run with --model."
        )
