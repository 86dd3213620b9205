"""What can be exchanged, as Protocols: a class of somebody else's fits without inheriting from anything here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from anchorscope.types.values import Cost, Differentiable, Measurements, Proposals, Snapshot, Spelled, Unit, Words


@runtime_checkable
class Predictor(Protocol):
    """The black box: texts in, one row of probabilities a text out.

    A predictor that knows only labels sets ``has_probabilities`` to False and answers rows with a single 1.
    ``fingerprint`` changes when the model does.
    """

    name: str
    labels: tuple[str, ...]
    has_probabilities: bool
    fingerprint: str

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels); each row sums to 1."""
        ...


@runtime_checkable
class BeginningPredictor(Predictor, Protocol):
    """A predictor that reads spelled texts, and works on while its caller does something else, as a GPU can."""

    def begin(self, texts: Spelled) -> Callable[[], NDArray[np.float64]]:
        """Begin to answer; what comes back is called for the probabilities (texts, labels), and waits for them."""
        ...


@runtime_checkable
class LimitedPredictor(Predictor, Protocol):
    """A predictor that reads a long text in part, and says which."""

    def visible(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Where what the model reads of each text begins and ends, in characters, (texts, 2)."""
        ...


@runtime_checkable
class DifferentiablePredictor(Predictor, Protocol):
    """A torch model whose texts can be followed to their embeddings, and back."""

    def differentiable(self, texts: Sequence[str], passes: int) -> Differentiable:
        """What gradients are taken of; each text will take so many passes forth and back, each of which is a call."""
        ...


@runtime_checkable
class Perturbator(Protocol):
    """The noise: what could stand at masked positions.

    ``cased`` is False where the vocabulary has no capitals: a fill then takes those of the word it replaces.
    ``knows_originals`` is True where the probability of the original word can be read from the proposals.
    """

    name: str
    vocabulary: Sequence[str]
    cased: bool
    knows_originals: bool
    fingerprint: str

    def fit(self, texts: Sequence[Words]) -> Perturbator:
        """The perturbator that has learnt from the collection what there is to learn: a new one, which stays as it is.

        Most learn nothing, and give themselves back.
        """
        ...

    def propose(self, texts: Sequence[Words], masks: Sequence[NDArray[np.bool_]]) -> Proposals:
        """Proposals for every True of every mask, text by text and left to right; a word under a mask is not seen."""
        ...


@runtime_checkable
class DrawingPerturbator(Perturbator, Protocol):
    """A perturbator that can also draw from its proposals, where they lie: only the drawn words leave a GPU."""

    def draw(
        self,
        texts: Sequence[Words],
        masks: Sequence[NDArray[np.bool_]],
        rows: NDArray[np.intp],
        chances: NDArray[np.float64],
    ) -> NDArray[np.int32]:
        """The words at which the cumulated probabilities of the asked rows of ``propose`` pass the chances."""
        ...


@runtime_checkable
class LocalScore(Protocol):
    """How much a term does in a document, for the label that the model says there.

    What makes one is called with a predictor, a fitted perturbator and the settings (``registry.resolve("score",
    name)(predictor, perturbator, settings)``). ``help`` says in a line what the value is, ``call`` what one call of the
    model is, ``noise`` where the variance of a value comes from; ``is_graded`` tells an effect from a yes or no. An
    occurrence is a "token", or all tokens of a "term" in a document: ``grain``. Where ``shares_calls``, the calls for
    one occurrence serve all others of its document. Where it ``tests_anchors``, it reads whether perturbed texts keep
    the decision, and is asked about the empty anchor; anchors are counted only where it is not graded as well
    (``counts_anchors``): a graded one reads too few texts for a verdict.
    Where it does not ``perturb``, no word is replaced, and the perturbator is None. What makes one may have a
    ``check(predictor)``, which refuses a model that it cannot serve, or a missing package, before any call; and a
    ``blind_spot``, which says in a clause what it does not see, for whoever reads a list.
    """

    name: str
    help: str
    call: str
    noise: str
    is_graded: bool
    grain: str
    shares_calls: bool
    tests_anchors: bool
    perturbs: bool

    def calls(self, unit: Unit) -> float:
        """The texts that the model is asked about for a unit, at most; infinite where nobody knows beforehand."""
        ...

    def measure(self, units: Sequence[Unit]) -> tuple[Measurements, Cost]:
        """A row for each occurrence of each unit, in their order, and what that took.

        A row depends on its own unit alone. A score that gives second measurements (``repeat``) may be asked about a
        document again: ``unit.number`` then names samples of its own, 0 being the first and 1 those of the ``repeat``.
        """
        ...


def counts_anchors(score: LocalScore | type[LocalScore]) -> bool:
    """Whether what a local score says of occurrences are verdicts on anchors, to be counted and shown as such."""
    return score.tests_anchors and not score.is_graded


class Backend(Protocol):
    """Where units of work are measured: in this process, in others, on other machines.

    What makes one is called with a local score and the number of workers, or None for as many as it likes. A local
    score counts its calls as it goes, so it is asked by one worker at a time: others, be they threads, get copies of
    their own (it can be pickled), which are told what the model calls its columns (``score.columns.remember``).
    """

    def measure(self, units: Sequence[Unit], max_calls: float = inf) -> tuple[Measurements, Cost]:
        """As the local score does, whoever does it, with no more than ``max_calls`` texts for the model.

        Where these do not suffice, rows of the last units are missing: what comes back belongs to the first of them.
        """
        ...

    def close(self) -> None:
        """Let the workers go."""
        ...


@runtime_checkable
class SharingBackend(Backend, Protocol):
    """A backend whose workers also take their share of what comes before the first round: cutting and predicting."""

    n_workers: int

    def predict(self, texts: Sequence[str], max_calls: float = inf) -> tuple[NDArray[np.float64], Cost]:
        """What the model says of some texts (texts, labels), and what that took."""
        ...

    def predict_each(self, parts: Sequence[Sequence[str]], ahead: int) -> Iterator[tuple[NDArray[np.float64], Cost]]:
        """The same of each of many parts in turn, without a limit of calls. While an answer is read, workers may go on
        with the parts after it, with so many ``ahead`` at most."""
        ...

    def map(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterable[Any]:
        """What a function answers to each argument; function and arguments can be pickled. Workers may still be at work
        when this comes back: what is read first is waited for first."""
        ...


class Reporter(Protocol):
    """A reader of snapshots: terminal table, JSON lines, live page."""

    def open(self) -> None:
        """Called before the first snapshot."""
        ...

    def update(self, snapshot: Snapshot) -> None:
        """Called with each snapshot."""
        ...

    def close(self) -> None:
        """Called after the last one, and when the run fails."""
        ...
