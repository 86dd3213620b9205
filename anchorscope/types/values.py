"""The values that travel from stage to stage.

A document becomes words, its terms become occurrences, a unit of work asks about some of them, a local score answers
with measurements, these are counted in a tally, and the tally is shown as a snapshot. Each is frozen; a stage knows
the one before it only by the value that it receives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from anchorscope import registry

Positions: TypeAlias = tuple[int, ...]
"""Where the words of an occurrence stand in its document, counted in words from 0."""

MOST_NAMED = 8
"""Terms that a list names where it is printed in a line."""

EMPTY: Positions = ()
"""The positions of the empty anchor: no word is kept for sure, so its precision is the background rate."""


class Document(NamedTuple):
    """A text, the label that came with it (if any), and the key that names it in journal and result."""

    key: str
    text: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Beyond:
    """A collection that some documents were drawn from: how many there are, and how many hold each of their
    terms: its document frequency."""

    n_documents: int
    document_frequency: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HeardLabels:
    """The names of a model's labels as a run has written them down, and whether it gave probabilities; None if it had
    not answered yet."""

    names: tuple[str, ...]
    has_probabilities: bool | None


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
        # The bytes are int32: read where they lie, as there may be millions of them.
        return " ".join(map(self.stretches.__getitem__, memoryview(self.numbers[index]).cast("i")))

    def __iter__(self) -> Iterator[str]:
        # All texts in one pass over one array; each is then the slice between two ends.
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
    ``number`` counts the measurements of the document: above 0 it is a further one, with samples of its own.
    """

    document: int
    text: str
    label: int
    positions: tuple[Positions, ...]
    thresholds: tuple[float, ...]
    probability: float = nan
    number: int = 0

    def __len__(self) -> int:
        return len(self.positions)

    def occurrences(self) -> Iterator[Occurrence]:
        """What is to be measured, in order."""
        return (Occurrence(self.document, positions) for positions in self.positions)

    def first(self, n: int) -> Unit:
        """The first n of its occurrences."""
        return replace(self, positions=self.positions[:n], thresholds=self.thresholds[:n])

    def rest(self, n: int) -> Unit:
        """The others."""
        return replace(self, positions=self.positions[n:], thresholds=self.thresholds[n:])


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


GREATEST_EFFECT = 1e6
"""What no effect comes near, made as it is of differences of probabilities; sums and squares of less stay numbers."""


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
        # Decided (not undecided), and no anchor: nothing was tested, so no cap ended a test either.
        no = np.zeros(len(value), bool)
        nothing = np.zeros(len(value), np.int64)
        return cls(value, variance, np.full(len(value), nan), calls, no, ~no, nothing, nothing)

    @classmethod
    def join(cls, parts: Iterable[Measurements]) -> Measurements:
        """The rows of all parts, one part after another."""
        nothing = cls.of_values(np.empty(0), np.empty(0), np.empty(0, np.int64))  # so that no parts are no rows
        listed = [nothing, *parts]
        return cls(*(np.concatenate([getattr(part, name) for part in listed]) for name in cls.__slots__))

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, rows: NDArray[np.generic] | slice) -> Measurements:
        return Measurements(*(getattr(self, name)[rows] for name in self.__slots__))

    def rows(self) -> list[Measurement]:
        """Row by row."""
        # Column by column into Python's own numbers, which is faster than row by row.
        columns = {name: getattr(self, name).tolist() for name in self.__slots__}
        columns["repeat"] = [None if isnan(value) else value for value in columns["repeat"]]
        return list(map(Measurement, *columns.values()))

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of samples that kept the prediction; 0 where no sample could be read."""
        return self.agreements / np.maximum(self.samples, 1)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a computation took; ``predictor_tokens`` are those that a server told, ``kept_answers`` are answers of the
    model that were known from before, so that nothing was asked. Costs add up."""

    seconds: float = 0.0
    documents: int = 0
    tests: int = 0
    undecided: int = 0
    samples: int = 0
    predictor_texts: int = 0
    perturbator_passes: int = 0
    predictor_tokens: int = 0
    kept_answers: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def answers(self) -> int:
        """Answers of the model, asked for now or known from before: what a budget counts, so that a run comes to the
        same end whatever is known, unless calls fail: what is known does not fail again."""
        return self.predictor_texts + self.kept_answers


@dataclass(frozen=True, slots=True, repr=False)
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

    def __repr__(self) -> str:
        low, high = self.interval
        what = "driver" if self.driver else "no driver"
        return (
            f"<Term {self.written!r}: score {self.score:.3g} ({low:.3g} to {high:.3g}), {what}, "
            f"tested {self.tested:,} of {self.occurrences:,}>"
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """How one label of several is shown by itself: as the one of this place among so many, at a level of intervals."""

    place: int
    n_labels: int
    level: float


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The top terms of one label by their scores, and the drivers against it.

    ``documents`` is how many are predicted the label, in the whole collection; where the model was asked about
    ``asked`` of its documents only, that is an estimate, which lies in ``documents_range`` with a probability of 90%,
    and ``drawn`` says that they were drawn for another reason than a budget of calls. So is ``robust``, the number of
    documents whose prediction needs no word at all, which was looked at in ``robust_of`` of them; None where it is not
    looked at. ``spent`` says that everything is tested and the list is not settled all the same: more regret is left
    than was asked for. So many documents were ``measured_again``, as noise was what the list lacked.
    ``placed`` says how a notebook shows it, where it was taken out of a result.
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
    drawn: bool = False
    documents_range: tuple[int, int] | None = None
    spent: bool = False
    measured_again: int = 0
    placed: Placed | None = field(default=None, compare=False)

    @property
    def drivers(self) -> tuple[Term, ...]:
        """The terms that are told apart from what any word does."""
        return tuple(term for term in self.terms if term.driver)

    def __repr__(self) -> str:
        named = [_named("terms", self.terms), _named("against", self.against), self.note or ""]
        return f"<Explanation of {self.label!r}: {'; '.join(part for part in named if part)}>"

    def _repr_html_(self) -> str:
        how = self.placed
        draw = registry.resolve("drawing", "html")  # by name: the values know no report
        drawn: str = draw({self.label: self}, **({} if how is None else {"level": how.level, "among": how}))
        return drawn


def taken_out(explanations: Mapping[str, Explanation], label: str, level: float) -> Explanation:
    """One of several explanations, which is drawn as it is among them."""
    found = explanations[label]
    return replace(found, placed=Placed([*explanations].index(label), len(explanations), level))


def _named(what: str, terms: Sequence[Term]) -> str:
    """The first terms of a list with their scores, and how many more there are."""
    if not terms:
        return ""
    first = ", ".join(f"{term.written!r} {term.score:.3g}" for term in terms[:MOST_NAMED])
    return f"{what} {first}" + (f" and {len(terms) - MOST_NAMED} more" if len(terms) > MOST_NAMED else "")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known now. ``tests_planned`` bounds the tests still to come, for a progress bar; ``ended_by`` is the
    option whose budget ended the run, if one did."""

    explanations: Mapping[str, Explanation]
    round: int
    tests_planned: int
    settled: bool
    interval_level: float
    cost: Cost
    finished: bool = False
    ended_by: str | None = None

    def __getitem__(self, label: str) -> Explanation:
        return taken_out(self.explanations, label, self.interval_level)

    def _repr_html_(self) -> str:
        drawn: str = registry.resolve("drawing", "html")(self.explanations, level=self.interval_level)
        return drawn


@dataclass(frozen=True, slots=True, eq=False)
class Differentiable:
    """What gradients are taken of, as torch has it: ``forward(embeddings, *rest)`` are probabilities (texts, labels).

    ``embeddings`` and ``baselines``, those of texts that say nothing, are (texts, pieces, width); ``spans[t]`` says
    where each piece of text t stands in it, in characters; an empty span belongs to no word.
    """

    forward: Callable[..., Any]
    embeddings: Any
    baselines: Any
    rest: tuple[Any, ...]
    spans: Sequence[Sequence[tuple[int, int]]]
