"""The values that travel from stage to stage, and the contracts that outside code can honour.

A document becomes words, its terms become occurrences, a unit of work asks about some of them, a local score answers
with measurements, these are counted in a tally, and the tally is shown as a snapshot. Each is a frozen dataclass; a
stage knows the one before it only by the value it receives.

The contracts are Protocols: a class of somebody else's fits without inheriting from anything here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Any, Protocol, TypeAlias, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry

Positions: TypeAlias = tuple[int, ...]
"""Where the words of an occurrence stand in its document, counted in words from 0."""

EMPTY: Positions = ()
"""The positions of the empty anchor: no word is kept for sure, so its precision is the background rate."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text, the label that came with it (if any), and the key that names it in journal and result."""

    key: str
    text: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Beyond:
    """A collection that some documents were drawn from: how many there are, and how many hold each of their terms."""

    n_documents: int
    holders: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text and the gaps around them: ``gaps[i]`` stands before ``words[i]``, the last one at the end."""

    words: tuple[str, ...]
    gaps: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, slots=True, eq=False)
class Spelled(Sequence[str]):
    """Texts by the stretches between their spaces: each is the numbers (int32) of its stretches, as bytes.

    Equal texts have equal numbers. As a sequence it holds the texts themselves, written when they are asked for.

    >>> Spelled(["fine", "film"], [np.array([1, 0, 1], np.int32).tobytes()])[0]
    'film fine film'
    """

    stretches: Sequence[str]
    numbers: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Spelled: ...

    def __getitem__(self, index: int | slice) -> str | Spelled:
        if isinstance(index, slice):
            return Spelled(self.stretches, self.numbers[index])
        return " ".join(map(self.stretches.__getitem__, memoryview(self.numbers[index]).cast("i")))

    def __iter__(self) -> Iterator[str]:
        found = [*map(self.stretches.__getitem__, memoryview(b"".join(self.numbers)).cast("i").tolist())]
        end = 0
        for numbers in self.numbers:
            start = end
            end = end + len(numbers) // 4
            yield " ".join(found[start:end])


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a perturbator would put at the masked positions: a row a position, in the order asked.

    ``words`` (rows, n) numbers the perturbator's vocabulary; ``probabilities`` (rows, n) sums to 1 in
    each row. A row with fewer than n proposals is padded with probability 0.
    """

    words: NDArray[np.int32]
    probabilities: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A term in a document: the positions of the words that it takes up there.

    Today's terms have one position each. No position at all is the *empty anchor* (``EMPTY``): nothing is kept for
    sure, so its precision is the background rate.
    """

    document: int
    positions: Positions


@dataclass(frozen=True, slots=True)
class Unit:
    """Some occurrences in one document, to be measured together: the piece of work that travels to a worker.

    ``document`` is its number in the collection, ``label`` the number of the label predicted for it, ``probability``
    that of this label; ``thresholds[j]`` is the precision that makes an anchor of the occurrence at ``positions[j]``.
    """

    document: int
    text: str
    label: int
    positions: tuple[Positions, ...]
    thresholds: tuple[float, ...]
    probability: float = nan

    def __len__(self) -> int:
        return len(self.positions)

    def occurrences(self) -> Iterator[Occurrence]:
        """What is to be measured, in order."""
        return (Occurrence(self.document, positions) for positions in self.positions)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a local score says of one occurrence: a row of ``Measurements``."""

    value: float
    variance: float
    repeat: float | None
    calls: int
    anchor: bool
    decided: bool
    agreements: int
    samples: int

    @property
    def precision(self) -> float:
        """The share of samples that kept the prediction; 0 where no sample could be read."""
        return self.agreements / self.samples if self.samples else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """What a local score says of many occurrences: columns, a row an occurrence, in the order in which they were asked.

    ``value`` is the answer, ``variance`` what another seed would change about it (of the measuring alone, not between
    documents; NaN where that cannot be told), ``repeat`` the answer of a second measurement, which tells how good the
    variances are (NaN where there is none), ``calls`` the model's texts that the row was read from. Rows may share
    calls, so these do not add up; the ``Cost`` beside them does.

    The other columns are the test for an anchor that was read from the same samples: the verdict, whether the test
    could decide (False where the cap on samples ended it, so that the mean gave the answer), and its counts. A score
    that tests no anchors leaves them at zero.
    """

    value: NDArray[np.float64]
    variance: NDArray[np.float64]
    repeat: NDArray[np.float64]
    calls: NDArray[np.int64]
    anchor: NDArray[np.bool_]
    decided: NDArray[np.bool_]
    agreements: NDArray[np.int64]
    samples: NDArray[np.int64]

    @classmethod
    def of_values(
        cls, value: NDArray[np.float64], variance: NDArray[np.float64], calls: NDArray[np.int64]
    ) -> Measurements:
        """Those of a score that tests no anchors.

        >>> len(Measurements.of_values(np.array([0.5]), np.zeros(1), np.ones(1, np.int64)))
        1
        """
        no = np.zeros(len(value), bool)
        nothing = np.zeros(len(value), np.int64)
        return cls(value, variance, np.full(len(value), nan), calls, no, ~no, nothing, nothing)

    @classmethod
    def join(cls, parts: Iterable[Measurements]) -> Measurements:
        """The rows of all parts, one part after another."""
        nothing = cls.of_values(np.empty(0), np.empty(0), np.empty(0, np.int64))
        listed = [nothing, *parts]
        return cls(*(np.concatenate([getattr(part, name) for part in listed]) for name in cls.__slots__))

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, rows: NDArray[np.generic] | slice) -> Measurements:
        return Measurements(*(getattr(self, name)[rows] for name in self.__slots__))

    def rows(self) -> list[Measurement]:
        """Row by row."""
        columns = {name: getattr(self, name).tolist() for name in self.__slots__}
        columns["repeat"] = [None if isnan(value) else value for value in columns["repeat"]]
        return list(map(Measurement, *columns.values()))

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of samples that kept the prediction; 0 where no sample could be read."""
        return self.agreements / np.maximum(self.samples, 1)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a computation took. Costs add up."""

    seconds: float = 0.0
    documents: int = 0
    tests: int = 0
    undecided: int = 0
    samples: int = 0
    predictor_texts: int = 0
    perturbator_passes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Term:
    """A term as an explanation of one label: its score, how sure that is, and the counts behind it.

    ``written`` is how it is written most often. A *driver* is told apart from what any word does: the false discovery
    rate of all drivers of a label is 5%; where anchors are counted, it was an anchor at least once. ``anchors`` is None
    where no anchors are tested.
    """

    term: str
    written: str
    score: float
    interval: tuple[float, float]
    membership: float | None
    driver: bool
    tested: int
    anchors: int | None
    skipped: int
    occurrences: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The top terms of one label, drivers first, and the drivers against it.

    ``documents`` is how many are predicted the label, in the whole collection; where the model was asked about
    ``asked`` of its documents only, that is an estimate. So is ``robust``, the number of documents whose prediction
    needs no word at all, which was looked at in ``robust_of`` of them; None where it is not looked at.
    """

    label: str
    documents: int
    asked: int
    robust: int | None
    robust_of: int
    settled: bool
    regret: float | None
    terms: tuple[Term, ...]
    against: tuple[Term, ...] = ()
    note: str | None = None

    @property
    def drivers(self) -> tuple[Term, ...]:
        """The terms that are told apart from what any word does."""
        return tuple(term for term in self.terms if term.driver)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known now. ``tests_planned`` bounds the tests still to come, for a progress bar."""

    explanations: Mapping[str, Explanation]
    round: int
    tests_planned: int
    settled: bool
    interval_level: float
    cost: Cost
    finished: bool = False

    def __getitem__(self, label: str) -> Explanation:
        return self.explanations[label]

    def _repr_html_(self) -> str:
        drawn: str = registry.resolve("drawing", "html")(self.explanations, level=self.interval_level)
        return drawn


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
    one occurrence serve all others of its document. Where it ``tests_anchors``, it is asked about the empty anchor.
    Where it does not ``perturb``, no word is replaced, and the perturbator is None.
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

        A row depends on its own unit alone.
        """
        ...


class Backend(Protocol):
    """Where units of work are measured: in this process, in others, on other machines.

    What makes one is called with a local score and the number of workers, or None for as many as it likes.
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

    def predict(self, texts: Sequence[str], max_calls: float = inf) -> tuple[NDArray[np.float64], int]:
        """What the model says of some texts (texts, labels), and how many it was asked about for that."""
        ...

    def map(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
        """What a function answers to each argument; function and arguments can be pickled."""
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
