"""The values that travel from stage to stage, and the contracts that outside code can honour.

A document becomes words, the words become a unit of work (which positions to test, at which
threshold), a unit becomes verdicts, verdicts are counted in a tally, and the tally is shown as a
snapshot. Each is a frozen dataclass; a stage knows the one before it only by the value it receives.

The contracts are Protocols: a class of somebody else's fits without inheriting from anything here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

EMPTY = -1
"""The position of the empty anchor: no token is forced, so its precision is the background rate."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text, the label that came with it (if any), and the key that names it in journal and result."""

    key: str
    text: str
    label: str | None = None


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
            start, end = end, end + len(numbers) // 4
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
class Unit:
    """One document's tokens to be tested: the piece of work that travels to a worker.

    ``document`` is its number in the collection, ``label`` the number of the label predicted for it;
    ``thresholds[j]`` is the precision that the token at ``positions[j]`` has to reach.
    """

    document: int
    text: str
    label: int
    positions: tuple[int, ...]
    thresholds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the token at ``position`` (or the empty anchor) is an anchor, and the counts that say so.

    ``decided`` is False where the cap on samples ended the test: the mean alone then gives the answer. ``gain`` is
    how much keeping the token raises the mean probability of the prediction, over samples that replace it; 0 where
    no sample replaces it (keep policy ``own``).
    """

    document: int
    position: int
    anchor: bool
    decided: bool
    agreements: int
    samples: int
    threshold: float
    gain: float

    @property
    def precision(self) -> float:
        """The share of samples that kept the prediction; 0 where no sample could be read."""
        return self.agreements / self.samples if self.samples else 0.0


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
    """A word as an explanation of one label: its score, how sure that is, and the counts behind it."""

    term: str
    score: float
    interval: tuple[float, float]
    membership: float | None
    anchors: int
    non_anchors: int
    skipped: int
    occurrences: int
    examples: tuple[str, ...] = ()

    @property
    def tested(self) -> int:
        """The occurrences with a verdict."""
        return self.anchors + self.non_anchors


@dataclass(frozen=True, slots=True)
class Explanation:
    """The top terms of one label. ``robust`` counts documents whose prediction needs no token at all."""

    label: str
    documents: int
    robust: int
    settled: bool
    regret: float | None
    terms: tuple[Term, ...]
    note: str | None = None


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
        # By name, when a notebook asks: the drawing stands above the values.
        notebook = import_module("anchorscope.report.notebook")
        drawn: str = notebook.html(self.explanations, level=self.interval_level)
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

    def fit(self, texts: Sequence[Words]) -> None:
        """Learn what there is to learn from the collection (most perturbators learn nothing)."""
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


class Backend(Protocol):
    """Where units of work are judged: in this process, in others, on other machines."""

    def judge(self, units: Sequence[Unit]) -> tuple[list[Verdict], Cost]:
        """The verdicts of all units, in the order of the units, and what they took."""
        ...

    def close(self) -> None:
        """Let the workers go."""
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
