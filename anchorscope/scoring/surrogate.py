"""What the documents' own predictions say about every term: a ridge regression of them on bags of terms.

In docs/method.md it is *What the predictions say already*, with what happens where it misleads.

A run has asked the model about every document, or about a sample of them, before it tests anything. These answers say a
lot already: with x_d the terms of document d (each 1 or 0) and P_d the probability of a label,

    log(P_d / (1 - P_d))  ~  a + b |x_d| + w . x_d      ridge: squared errors plus penalty times |w|^2 are least

and taking term t out of d is expected to cost the label

    s_dt = P_d - sigmoid(log(P_d / (1 - P_d)) - w_t)

which uses what the model really says of d, so that a document of which it is sure loses little. The number of terms
|x_d| is there lest every frequent word of a model that goes by length seems to do something. It costs no call. It is
a guess, and serves as one: tests measure how far it is off (``posterior.py``), and where all is tested nothing of it is
left. A document is never judged by weights that were fitted to itself: there are eight fits, each to all documents but
an eighth, which takes its weights (cross-fitting). The penalty is the one under which one half of the documents
predicts the other best; where none predicts anything, all weights are 0.

>>> texts = np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 50)             # two terms; the first raises the label
>>> document, term = np.nonzero(texts)
>>> rows = np.stack([0.8 - 0.6 * texts[:, 0], 0.2 + 0.6 * texts[:, 0]], axis=1)
>>> found = fit(document, term, rows, fold=np.arange(200) // 4 % N_FOLDS, n_terms=2)
>>> (found.weights[:, 1, 0] - found.weights[:, 1, 1]).round(1).tolist()[:2], found.explained.round(2).tolist()
([2.8, 2.8], [1.0, 1.0])
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.integer]

PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Penalties that are tried, in units of one document."""

STEPS = 40
"""Steps of a fit at most; one that has converged ends before."""

LOOK = 4
"""After so many steps it is looked whether a fit has converged."""

ROUNDING = 1e-12
"""What is smaller than this share of what it was made from is rounding."""

CONVERGED = 1e-3
"""A fit ends when the gradient is this small a share of what it was at first."""

LEAST_PROBABILITY = 0.005
"""Probabilities are kept away from 0 and 1 by so much before their logits are taken."""

N_FOLDS = 8
"""With two, each fit would see half of the documents, and lists of few calls would be worth 3% less."""


REFITTED_LABELS = 10
"""With more labels each fold has the weights of the half that it is not in: eight fits a label would take too long."""


@dataclass(frozen=True, slots=True, eq=False)
class Surrogate:
    """Weights (folds, labels, terms), in logits: row f is for the documents of fold f, to which it was not fitted.

    ``explained`` (labels,) is the share of the variance of one half's logits that weights of the other explain.
    """

    weights: Floats
    explained: Floats

    def expected(self, fold: Numbers, label: Numbers, term: Numbers, probability: Floats) -> Floats:
        """What taking a term out of a document is expected to cost its label; all (occurrences,)."""
        logit = logits(probability)
        return probability - sigmoid(logit - self.weights[fold, label, term])


def fit(
    document: Numbers, term: Numbers, rows: Floats, fold: Numbers, n_terms: int, *, n_threads: int = 1
) -> Surrogate:
    """Weights of every term for every label.

    ``document`` and ``term`` (pairs,) say which documents hold which terms, ``rows`` (documents, labels) are the
    model's answers, ``fold`` (documents,) the fold of each. ``n_threads`` fits are made at a time.
    """
    n_labels = rows.shape[1]
    weights = np.zeros((N_FOLDS, n_labels, n_terms))
    explained = np.zeros(n_labels)
    # Each fold gets the weights that were fitted to all others. Cross-fitting (Chernozhukov et al. 2018): errors of the
    # weights are then no errors of the documents that they judge.
    targets = logits(rows)
    pairs = _Pairs.of(document, term, n_terms)
    is_second = fold >= N_FOLDS // 2
    halves = [_Design.of(pairs, inside) for inside in (~is_second, is_second)]
    others = [_Design.of(pairs, fold != number) for number in range(N_FOLDS if n_labels <= REFITTED_LABELS else 0)]
    # A label that no document is given is never asked about; the logits of two labels are each other's negatives.
    is_said = np.bincount(rows.argmax(axis=1), minlength=n_labels) > 0 if len(rows) else np.zeros(n_labels, bool)
    for label in [0] if n_labels == 2 else np.flatnonzero(is_said).tolist():
        weights[:, label], explained[label] = _cross_fitted(halves, others, targets[:, label], n_threads)
    if n_labels == 2:
        weights[:, 1] = -weights[:, 0]
        explained[1] = explained[0]
    return Surrogate(weights, explained)


def logits(probability: Floats) -> Floats:
    """log(p / (1 - p)), of probabilities that are kept away from 0 and 1."""
    inside = np.clip(probability, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.log(inside / (1 - inside))


def sigmoid(logit: Floats) -> Floats:
    """The way back.

    >>> float(sigmoid(logits(np.array(0.3))).round(6))
    0.3
    """
    return 1 / (1 + np.exp(-logit))


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The pairs of all documents and terms, (2, pairs) each: by document (documents, terms), and by term (terms,
    documents)."""

    by_document: Numbers
    by_term: Numbers
    n_terms: int

    @classmethod
    def of(cls, document: Numbers, term: Numbers, n_terms: int) -> _Pairs:
        """Those of parallel columns, sorted once for all parts."""
        rows, columns = (np.argsort(by, kind="stable") for by in (document, term))
        return cls(np.stack([document[rows], term[rows]]), np.stack([term[columns], document[columns]]), n_terms)


@dataclass(frozen=True, slots=True, eq=False)
class _Design:
    """The design matrix X (documents, terms) of the regression over some documents, ones and zeros: by rows and by
    columns, as both X w and X' v are needed.

    ``by_document`` holds the terms of the pairs in the order of their documents, whose numbers are ``documents``;
    those of document i begin at ``first_term[i]``. The other three are the same the other way round. The constant and
    the length have no penalty: ``unpenalised`` (documents, 2) is an orthonormal basis Q of the two, and C = X - Q Q' X
    what they leave of X. C is dense and never made.
    """

    by_document: Numbers
    documents: Numbers
    first_term: Numbers
    by_term: Numbers
    terms: Numbers
    first_document: Numbers
    is_inside: NDArray[np.bool_]
    unpenalised: Floats
    n_terms: int

    @classmethod
    def of(cls, pairs: _Pairs, is_inside: NDArray[np.bool_]) -> _Design:
        """That of the documents that are inside."""
        length = np.bincount(pairs.by_document[0], minlength=len(is_inside))
        # Projecting constant and length out of both sides first gives the other weights their values (Frisch, Waugh and
        # Lovell).
        unpenalised, _ = np.linalg.qr(np.stack([is_inside, is_inside * length], axis=1).astype(np.float64))
        rows = _grouped(pairs.by_document[:, is_inside[pairs.by_document[0]]])
        columns = _grouped(pairs.by_term[:, is_inside[pairs.by_term[1]]])
        return cls(*rows, *columns, is_inside, unpenalised, pairs.n_terms)

    def times(self, weights: Floats) -> Floats:
        """X w: the weights of each document's terms, summed, (documents,)."""
        found = np.zeros(len(self.is_inside))
        if len(self.documents):
            found[self.documents] = np.add.reduceat(weights.take(self.by_document), self.first_term)
        return found

    def transposed_times(self, values: Floats) -> Floats:
        """X' v: the values of the documents that hold each term, summed, (terms,)."""
        found = np.zeros(self.n_terms)
        if len(self.terms):
            found[self.terms] = np.add.reduceat(values.take(self.by_term), self.first_document)
        return found

    def residual(self, values: Floats) -> Floats:
        """What constant and length leave of the values of the documents inside, v - Q Q' v; 0 for the others."""
        inside = np.where(self.is_inside, values, 0.0)
        return inside - self.unpenalised @ (self.unpenalised.T @ inside)

    def ridge_from(self, start: Floats, target: Floats, penalty: float) -> Floats:
        """The ridge weights under one penalty, (terms,), found from some that are nearly right.

        Conjugate gradients on (C'C + penalty) w = C'y, with the diagonal as preconditioner: frequent terms have steep
        slopes, rare ones flat ones. In exact numbers each gradient is orthogonal to all before it. Rounding would grow
        from step to step, until the weights differ in the fifth digit between processors and near-ties of a list fall
        otherwise: so it is made orthogonal to them.
        """
        diagonal = self.transposed_times(self.is_inside.astype(np.float64)) + penalty
        small = CONVERGED * float(np.linalg.norm(self.transposed_times(self.residual(target))))
        weights = start.copy()
        gradient = self.transposed_times(self.residual(target - self.times(weights))) - penalty * weights
        direction = gradient / diagonal
        squared = float(gradient @ direction)  # the length of the gradient under the preconditioner, squared
        past = np.empty((STEPS, self.n_terms))  # gradients, orthonormal under the preconditioner
        for number in range(STEPS):
            if np.linalg.norm(gradient) <= small:
                break
            image = self.transposed_times(self.residual(self.times(direction))) + penalty * direction
            step = squared / float(direction @ image)
            weights += step * direction
            past[number] = gradient / np.sqrt(squared)
            gradient -= step * image
            gradient -= (past[: number + 1] @ (gradient / diagonal)) @ past[: number + 1]
            next_squared = float(gradient @ (gradient / diagonal))
            direction = gradient / diagonal + next_squared / squared * direction
            squared = next_squared
        return weights

    def ridge_path(self, target: Floats, penalties: Sequence[float]) -> Floats:
        """The ridge weights under each penalty, (penalties, terms): (C'C + penalty) w = C'y."""
        gradient = self.transposed_times(self.residual(target))
        norm = float(np.linalg.norm(gradient))
        # Where constant and length explain all, what is left is rounding: there is nothing to fit.
        everything = self.transposed_times(np.abs(np.where(self.is_inside, target, 0.0)))
        if norm <= ROUNDING * np.linalg.norm(everything):
            return np.zeros((len(penalties), self.n_terms))
        return self._lanczos(gradient, norm, penalties)

    def _lanczos(self, gradient: Floats, norm: float, penalties: Sequence[float]) -> Floats:
        """The solutions of (C'C + penalty) w = gradient, (penalties, terms), by the method of Lanczos; ``norm`` is that
        of the gradient.

        C'C w is X' of what constant and length leave of X w. A step costs what one of conjugate gradients does, but
        serves all penalties: in the Krylov space that C'y, C'C C'y … span, C'C is a tridiagonal matrix, to whose
        diagonal a penalty is added. In exact numbers an image would be orthogonal to all rows once it is to the last
        two; see ``ridge_from``.
        """
        krylov = np.empty((STEPS, self.n_terms))  # orthonormal rows
        tridiagonal = np.zeros((STEPS, STEPS))  # C'C in this space
        krylov[0] = gradient / norm
        for step in range(STEPS):
            image = self.transposed_times(self.residual(self.times(krylov[step])))
            tridiagonal[step, step] = krylov[step] @ image
            image -= (krylov[: step + 1] @ image) @ krylov[: step + 1]
            rest = float(np.linalg.norm(image))
            is_last = step + 1 == STEPS or rest <= max(CONVERGED**2 * tridiagonal[0, 0], ROUNDING)
            if is_last or step % LOOK == LOOK - 1:
                coordinates = _solved(tridiagonal[: step + 1, : step + 1], penalties, norm)
                # What a solution in this space lacks of the gradient; the least penalty is the slowest.
                if is_last or rest * np.abs(coordinates[:, -1]).max() <= CONVERGED * norm:
                    break
            tridiagonal[step, step + 1] = tridiagonal[step + 1, step] = rest
            krylov[step + 1] = image / rest
        return coordinates @ krylov[: step + 1]

    def explained(self, weights: Floats, target: Floats) -> float:
        """R squared: the share of the variance of these targets that weights explain, beyond a constant and the
        length."""
        variance = float(np.square(self.residual(target)).sum())
        left = float(np.square(self.residual(target - self.times(weights))).sum())
        return 1 - left / variance if variance > 0 else 0.0


def _grouped(pairs: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Of pairs in the order of their first numbers: the second numbers; the first ones, each once; and where the second
    ones of each begin."""
    by, what = pairs
    first = np.flatnonzero(np.diff(by, prepend=-1))
    return what, by[first], first


def _solved(tridiagonal: Floats, penalties: Sequence[float], norm: float) -> Floats:
    """The solutions of (tridiagonal + penalty) x = (norm, 0, 0 …), (penalties, steps)."""
    # T = V diag(values) V', once; (T + penalty)^-1 is then V diag(1 / (values + penalty)) V' for every penalty.
    values, vectors = np.linalg.eigh(tridiagonal)
    return (norm * vectors[0] / (values + np.array(penalties)[:, None])) @ vectors.T


def _cross_fitted(halves: list[_Design], others: list[_Design], target: Floats, n_threads: int) -> tuple[Floats, float]:
    """The weights for each fold (folds, terms), fitted to the ``others``, and the share of the variance they explain.

    The penalty is the one under which the weights of one half predict the other best.
    """
    nothing = np.zeros((N_FOLDS, halves[0].n_terms))
    # One document can predict nothing of another.
    if min(int(half.is_inside.sum()) for half in halves) < 2:
        return nothing, 0.0
    tried = halves[0].ridge_path(target, PENALTIES)
    explained = [halves[1].explained(weights, target) for weights in tried]
    best = max(range(len(PENALTIES)), key=lambda number: (explained[number], PENALTIES[number]))
    if explained[best] <= 0:
        return nothing, 0.0
    # The weights of each half are where the fits for the folds of the other half begin: they do not know these folds.
    (second,) = halves[1].ridge_path(target, PENALTIES[best : best + 1])
    starts = [second] * (N_FOLDS // 2) + [tried[best]] * (N_FOLDS // 2)
    # numpy lets other threads go on while it works; each fit is the same, whatever the others do.
    with ThreadPoolExecutor(n_threads) as pool:
        found = [*pool.map(lambda design, start: design.ridge_from(start, target, PENALTIES[best]), others, starts)]
    return np.stack(found or starts), explained[best]
