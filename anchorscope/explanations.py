"""From counts and scores to what is said of a label: its top terms, which of them are drivers, and what speaks
against it.

A list ends where the evidence ends. Where values are graded, a term is a *driver* if it is told apart from what any
term does for the label; as many are named as can be while the false discovery rate over all candidates of the label
stays within 5%. Where anchors are counted, a driver was an anchor at least once. A baseline that reads no test names
none. Drivers come first; the others stand below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from anchorscope.errors import plural
from anchorscope.scoring.aggregation import Aggregation, Standing
from anchorscope.scoring.tally import Tally, ranking
from anchorscope.types import Explanation, Term

FEW_DOCUMENTS = 10
"""Of fewer documents a label's terms do not say much."""

ROBUST_SHARE = 0.9

LITTLE = 0.05
"""What the probability of a label loses with a term that does next to nothing."""

ENOUGH_TESTS = 30
"""From so many tests on it is said that none found more."""

Z_90 = NormalDist().inv_cdf(0.95)
"""How many standard deviations to each side 90% of a normal distribution are within."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shown:
    """What the terms of all labels are shown from: how they are written, what was counted, scores, and how sure they
    are.

    ``counts_anchors`` says that anchors are counted, ``n_documents``, ``n_asked``, ``n_robust`` and ``n_robust_of``
    (labels,) how many documents there are of each kind. ``drawn`` says that no budget of calls chose those asked about,
    ``ended_by`` is the option whose budget ended the run, if one did; ``takes`` how many calls a run would take,
    about, to come to its first test, where it came to none. ``greatest`` (labels,) is the greatest value of a test.
    """

    terms: Sequence[str]
    written: Sequence[str]
    tally: Tally
    scores: NDArray[np.float64]
    standing: Standing
    aggregation: Aggregation
    counts_anchors: bool
    n_documents: NDArray[np.int64]
    n_asked: NDArray[np.int64]
    n_robust: NDArray[np.int64]
    n_robust_of: NDArray[np.int64]
    drawn: bool = False
    ended_by: str | None = None
    takes: int | None = None
    greatest: NDArray[np.float64] | None = None


def explanation(
    shown: Shown,
    name: str,
    label: int,
    k: int,
    *,
    examples: Callable[[int, int], tuple[str, ...]] = lambda label, term: (),
) -> Explanation:
    """The top terms of one label and those against it, and where its lists stand."""
    standing = shown.standing
    occurrences = shown.tally.occurrences[label]
    driver, against = drivers(shown, label)
    # What was never tested is no list: it would name terms without evidence.
    ordered = ranking(shown.scores[label], occurrences, k).tolist() if _has_evidence(shown, label) else []
    worst = ranking(-shown.scores[label], np.where(against, occurrences, 0), k).tolist()
    tested = int(shown.n_robust_of[label])
    robust = round(int(shown.n_robust[label]) / tested * int(shown.n_documents[label])) if tested else None
    return Explanation(
        label=name,
        documents=int(shown.n_documents[label]),
        asked=int(shown.n_asked[label]),
        robust=robust,
        robust_of=tested,
        settled=bool(standing.settled[label]),
        spent=_is_spent(shown, label),
        measured_again=0 if standing.measured_again is None else int(standing.measured_again[label]),
        regret=_regret(shown, label),
        terms=tuple(_term_of(shown, label, t, bool(driver[t]), examples(label, t)) for t in ordered),
        against=tuple(_term_of(shown, label, t, True, examples(label, t)) for t in worst),
        note=_note(shown, name, label, bool(driver.any()), robust),
        drawn=shown.drawn and int(shown.n_asked.sum()) < int(shown.n_documents.sum()),
        documents_range=documents_range(
            int(shown.n_asked[label]), int(shown.n_asked.sum()), int(shown.n_documents.sum())
        ),
    )


def _is_spent(shown: Shown, label: int) -> bool:
    return shown.standing.spent is not None and bool(shown.standing.spent[label])


def _regret(shown: Shown, label: int) -> float | None:
    """What the list is expected to lack; nobody knows before the first test, unless there is nothing to test."""
    standing = shown.standing
    is_known = _has_evidence(shown, label) or bool(standing.settled[label]) or not shown.n_documents[label]
    return float(standing.regret[label]) if standing.regret is not None and is_known else None


def documents_range(found: int, n_asked: int, n_documents: int) -> tuple[int, int] | None:
    """How many of all documents a label has with a probability of 90%, if ``found`` of those asked about have it; None
    where all were asked about.

    Wilson's score interval for a share (1927), its variance smaller by the share of documents that were asked about:
    what is left to be wrong about is the others.

    >>> documents_range(4, 120, 2935), documents_range(120, 120, 120)
    ((45, 209), None)
    """
    if not n_asked or n_asked >= n_documents:
        return None
    share = found / n_asked
    z2 = Z_90 * Z_90 * (1 - n_asked / n_documents) / n_asked
    middle = (share + z2 / 2) / (1 + z2)
    half = sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2)
    low = round((middle - half) * n_documents)
    high = round((middle + half) * n_documents)
    return max(found, low), min(n_documents - (n_asked - found), high)


def _term_of(shown: Shown, label: int, term: int, driver: bool, examples: tuple[str, ...]) -> Term:
    standing, tally = shown.standing, shown.tally
    anchors = int(tally.anchors[label, term])
    return Term(
        term=shown.terms[term],
        written=shown.written[term],
        score=float(shown.scores[label, term]),
        interval=(float(standing.low[label, term]), float(standing.high[label, term])),
        membership=None if standing.membership is None else float(standing.membership[label, term]),
        driver=driver,
        tested=anchors + int(tally.non_anchors[label, term]),
        anchors=anchors if shown.counts_anchors else None,
        skipped=int(tally.skipped[label, term]),
        occurrences=int(tally.occurrences[label, term]),
        examples=examples,
    )


def drivers(shown: Shown, label: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which terms are drivers of a label, and which are drivers against it, each (terms,)."""
    tally, standing = shown.tally, shown.standing
    nobody = np.zeros(len(shown.terms), bool)
    if shown.aggregation.is_graded:
        if standing.driver is None or standing.against is None:
            return nobody, nobody
        # What is said for a label has a score for it, what is said against it one against it.
        scores = shown.scores[label]
        return standing.driver[label] & (scores > 0), standing.against[label] & (scores < 0)
    if shown.aggregation.reads == "verdicts":
        return tally.anchors[label] > 0, nobody
    return nobody, nobody


def _note(shown: Shown, name: str, label: int, has_drivers: bool, robust: int | None) -> str | None:
    """What to know before reading the list; where it has no drivers, why."""
    n_documents = int(shown.n_documents[label])
    if n_documents == 0:
        return _nobody(shown, name)
    if shown.aggregation.reads == "counts":
        return "A baseline that counts documents: it reads no test, so nothing is told apart."
    n_tested = _n_tested(shown, label)
    is_done = bool(shown.standing.settled[label]) or _is_spent(shown, label)
    ended_by = None if is_done else shown.ended_by
    if n_tested == 0:
        if ended_by:
            enough = f" to about {shown.takes:,}" if shown.takes else ""
            return f"Nothing is tested for {name!r}: {ended_by} ended the run before the first test; raise it{enough}."
        return "Nothing is tested yet: no term can be named."
    ended = f": {ended_by} ended the run, raise it to test more" if ended_by else ""
    if shown.aggregation.is_graded and shown.standing.driver is None:
        return f"How sure the terms are is not known of {shown.aggregation.name!r} here: none is called a driver."
    if not has_drivers and shown.aggregation.is_graded:
        if robust is not None and robust > ROBUST_SHARE * n_documents:
            return f"No term drives {name!r}: nearly all of its documents are predicted so whatever is replaced."
        if n_documents < FEW_DOCUMENTS and is_done:
            return f"Only {_few(n_documents)} predicted {name!r}: too few to tell any term for it apart."
        done = plural(n_tested, "test") + _reason(shown, label, n_tested)
        return f"No term is shown to do more than any other for {name!r} after {done}{ended}."
    if not has_drivers:
        return f"No term was an anchor of {name!r} in {plural(n_tested, 'test')}{ended}."
    if n_documents < FEW_DOCUMENTS:
        return f"Only {_few(n_documents)} predicted {name!r}: too few to say much."
    return None


def _reason(shown: Shown, label: int, n_tested: int) -> str:
    """Why tests told no term apart, where these show it: whatever they took from a document did next to nothing."""
    if shown.greatest is None or n_tested < ENOUGH_TESTS or shown.greatest[label] > LITTLE:
        return ""
    bound = max(0.001, ceil(float(shown.greatest[label]) * 1000) / 1000)
    return f", none of which found an effect of more than {bound:g}"


def _n_tested(shown: Shown, label: int) -> int:
    return int((shown.tally.anchors[label] + shown.tally.non_anchors[label]).sum())


def _has_evidence(shown: Shown, label: int) -> bool:
    """Whether a list of the label can be read from something: tests, or the counts of a baseline."""
    return shown.aggregation.reads == "counts" or _n_tested(shown, label) > 0


def _nobody(shown: Shown, name: str) -> str:
    """Of no document that the model was asked about it says the label: where it was not asked about all, some may be
    left."""
    n_asked = int(shown.n_asked.sum())
    if n_asked < int(shown.n_documents.sum()):
        more = "draws more of them" if shown.drawn else "has a greater --max-model-calls"
        return (
            f"None of the {n_asked:,} documents that were asked is predicted {name!r}; a run keeps to those that it "
            f"drew, so more are asked in a new one (another --out) that {more}."
        )
    return f"No document is predicted {name!r}: there is nothing to explain."


def _few(n_documents: int) -> str:
    return f"{plural(n_documents, 'document')} {'is' if n_documents == 1 else 'are'}"
