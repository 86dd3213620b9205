"""Who is compared by the yardsticks: ways to make a list of words for each label within a number of model calls.

A contender is handed an arena (a model and documents), a number of calls and a seed, and gives a ranking of terms for
each label. Every call counts, the predictions of documents included; a meter holds every contender to it. Local
methods take documents at random until their calls are spent, and their weights are summed **with their sign** over the
documents that the model gives a label, so that a word that speaks against it does not count for it.

    frequency                 how many documents of the label hold a term
    surrogate                 a ridge regression of the documents' own predictions, and no test at all
    surrogate, then tests     the same, and its 60 best words of each label tested in turn, each as often as the others
    occlusion                 each term of a document left out once: documents at random
    lime, shap                the packages of these names, with few samples a document (more documents are worth more)
    shapiq …                  approximators of the package shapiq (KernelSHAP, RegressionFBII, SVARM …), with 2n + 2
                              calls for a document of n terms: with 4n or 8n fewer documents can be afforded
    gradient                  gradient x input of a torch model; a document is one call (its way back is not counted)
    paper, paper-optimised    the paper's rule as its authors' code has it (masks filled in one pass, one-step bound)
    banzhaf, fast             our presets; "all calls" goes on where fast holds its list for settled (regret 0), "no
                              surrogate" learns nothing from the predictions, "every word" lists stop words and words
                              of one document too
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answers_in_batches
from anchorscope.asking.budget import Budget
from anchorscope.asking.predicting import PREDICTIONS_SHARE
from anchorscope.asking.removals import ordered
from anchorscope.evaluation.lime import LIME
from anchorscope.evaluation.shap import SHAP
from anchorscope.perturbators.choose import named_perturbator
from anchorscope.planning.candidates import find_candidates, priorities
from anchorscope.planning.collection import Collection, Predictions, collect, fit_surrogate
from anchorscope.run import Run
from anchorscope.settings import preset, score_perturbs, strategy
from anchorscope.text.read import read_texts
from anchorscope.text.words import removals, split, terms
from anchorscope.types import Predictor

Lists = dict[str, list[str]]
Weights = Mapping[str, float]

LIME_SAMPLES = 25
SHAP_SAMPLES = 50
TESTED_WORDS = 60
AT_ONCE = 2048


class Metered:
    """A predictor that counts what it is asked, and refuses what is beyond ``calls``."""

    has_probabilities = True

    def __init__(self, predictor: Predictor, calls: float) -> None:
        self.inner = predictor
        self.name, self.labels, self.fingerprint = predictor.name, predictor.labels, predictor.fingerprint
        self.calls, self.asked = calls, 0

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """What the model says, if it may still be asked."""
        self.asked += len(texts)
        if self.asked > self.calls:
            raise RuntimeError(f"{self.asked} texts asked about, {self.calls} allowed")
        return self.inner.predict(texts)


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """What a contender is given: a metered model, texts, how many calls it has, a seed, and the perturbator's name."""

    predictor: Metered
    texts: Sequence[str]
    calls: int
    seed: int
    perturbator: str

    @property
    def order(self) -> list[int]:
        """The texts in a random order."""
        order: list[int] = np.random.default_rng([self.seed, 17]).permutation(len(self.texts)).tolist()
        return order

    def ask(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """What the model says, (texts, labels)."""
        return answers_in_batches(self.predictor, texts, AT_ONCE)

    def ranked(self, sums: Sequence[dict[str, float]]) -> Lists:
        """The terms of each label, the greatest sum first."""
        return {label: ordered(of_label) for label, of_label in zip(self.predictor.labels, sums)}


def places_by_term(text: str) -> dict[str, tuple[int, ...]]:
    """Where each term of a text stands."""
    found: dict[str, tuple[int, ...]] = {}
    for position, key in enumerate(terms(split(text))):
        if key is not None:
            found[key] = (*found.get(key, ()), position)
    return found


def frequency(given: Documents) -> Lists:
    """Document counts in as many documents as can be predicted."""
    chosen = [given.texts[i] for i in given.order[: given.calls]]
    sums: list[dict[str, float]] = [{} for _ in given.predictor.labels]
    for text, label in zip(chosen, given.ask(chosen).argmax(axis=1).tolist()):
        for key in places_by_term(text):
            sums[label][key] = sums[label].get(key, 0.0) + 1
    return given.ranked(sums)


def surrogate(given: Documents) -> Lists:
    """What the predictions alone say of every term, summed over the documents of a label."""
    found, _ = _predicted(given, given.calls)
    return given.ranked([dict(zip(found.terms, row.tolist())) for row in found.expected_of_all()])


def surrogate_then_tests(given: Documents) -> Lists:
    """The words that the surrogate holds for the best, tested in documents at random, one round after another."""
    n = len(given.texts)
    found, rows = _predicted(given, n if n <= PREDICTIONS_SHARE * given.calls else int(PREDICTIONS_SHARE * given.calls))
    chance = np.random.default_rng([given.seed, 23])
    expected = found.expected_of_all()
    rounds: dict[int, list[tuple[int, int, int]]] = {}
    for label, row in enumerate(expected):
        for term in np.argsort(-row, kind="stable")[:TESTED_WORDS].tolist():
            here = np.flatnonzero((found.occurrence_term == term) & (found.occurrence_label == label))
            for turn, occurrence in enumerate(chance.permutation(here).tolist()):
                rounds.setdefault(turn, []).append((label, term, occurrence))
    chosen = [test for turn in sorted(rounds) for test in rounds[turn]][: given.calls - len(rows)]
    occurrences = np.array([occurrence for *_, occurrence in chosen], np.int64)
    document = found.occurrence_document[occurrences]
    places = found.positions_of(occurrences)
    after = given.ask([removals(found.documents[d].text, [at])[0] for d, at in zip(document.tolist(), places)])
    seen: dict[tuple[int, int], list[float]] = {}
    for (label, term, _), d, row in zip(chosen, document.tolist(), after):
        seen.setdefault((label, term), []).append(float(rows[d, label] - row[label]))
    sums: list[dict[str, float]] = [{} for _ in given.predictor.labels]
    for (label, term), falls in seen.items():
        # What was expected counts as two tests.
        n_documents = int(found.tally.documents[label, term])
        guess = expected[label, term] / n_documents
        sums[label][found.terms[term]] = (2 * guess + sum(falls)) / (2 + len(falls)) * n_documents
    return given.ranked(sums)


def _predicted(given: Documents, n: int) -> tuple[Collection, NDArray[np.float64]]:
    """So many documents with what their predictions let expect of every term, and these predictions."""
    settings = preset("fast", seed=given.seed)
    documents = read_texts([given.texts[i] for i in given.order[:n]]).documents
    rows = given.ask([document.text for document in documents])
    candidates = find_candidates(documents, settings)
    priority = priorities(settings.seed, [document.key for document in documents])
    fitted = fit_surrogate(rows, np.arange(len(documents)), candidates, priority)
    labels = given.predictor.labels
    predictions = Predictions.of(rows)
    return collect(documents, labels, predictions, settings, candidates=candidates, surrogate=fitted), rows


def occlusion(given: Documents) -> Lists:
    """Each term of a document left out once, document by document."""
    texts = _affordable(given, lambda text: len(places_by_term(text)))
    places = [places_by_term(text) for text in texts]
    before = given.ask(texts)
    label = before.argmax(axis=1)
    changed = [new for text, held in zip(texts, places) for new in removals(text, [*held.values()])]
    document = np.repeat(np.arange(len(texts)), [len(held) for held in places])
    after = given.ask(changed)
    falls = before[document, label[document]] - after[np.arange(len(changed)), label[document]]
    sums: list[dict[str, float]] = [{} for _ in given.predictor.labels]
    for number, key, fall in zip(document.tolist(), (key for held in places for key in held), falls.tolist()):
        mine = sums[label[number]]
        mine[key] = mine.get(key, 0.0) + fall
    return given.ranked(sums)


def signed_lime(given: Documents, samples: int = LIME_SAMPLES) -> Lists:
    """LIME's weights, summed with their sign."""
    return _summed(
        given,
        lambda text: samples,
        lambda text, label: LIME.local_weights(given.predictor, text, label, samples=samples, seed=given.seed),
    )


def signed_shap(given: Documents, samples: int = SHAP_SAMPLES) -> Lists:
    """SHAP's values (partition explainer), summed with their sign."""
    return _summed(
        given,
        lambda text: samples + 2,
        lambda text, label: SHAP.local_weights(given.predictor, text, label, samples=samples, seed=given.seed),
    )


def with_shapiq(approximator: str, options: Mapping[str, Any]) -> Callable[[Documents], Lists]:
    """Values of an approximator of shapiq: the players are a document's terms, with 2n + 2 calls for n of them."""

    def contender(given: Documents) -> Lists:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import shapiq.approximator

            make = getattr(shapiq.approximator, approximator)
            return _summed(given, _shapiq_calls, lambda text, label: _shapiq_values(given, make, options, text, label))

    return contender


def _shapiq_calls(text: str) -> int:
    return 2 * len(places_by_term(text)) + 2


def _shapiq_values(given: Documents, make: Any, options: Mapping[str, Any], text: str, label: str) -> Weights:
    places = places_by_term(text)
    column = given.predictor.labels.index(label)
    if len(places) < 3:  # too few to sample from: each left out once
        before = float(given.ask([text])[0, column]) if places else 0.0
        after = given.ask(removals(text, [*places.values()]))[:, column].tolist()
        return {key: before - p for key, p in zip(places, after)}
    positions = [*places.values()]
    known: dict[bytes, float] = {}  # what was asked before is not asked again: neither here nor by a sensible user

    def game(coalitions: NDArray[np.bool_]) -> NDArray[np.float64]:
        kept = np.asarray(coalitions, bool).reshape(-1, len(positions))
        new = [*{row.tobytes(): row for row in kept if row.tobytes() not in known}.values()]
        gone = [tuple(p for i in np.flatnonzero(~row).tolist() for p in positions[i]) for row in new]
        answers = given.ask(removals(text, gone))[:, column].tolist() if new else []
        known.update(zip((row.tobytes() for row in new), answers))
        return np.array([known[row.tobytes()] for row in kept])

    values = make(len(positions), random_state=given.seed, **options).approximate(_shapiq_calls(text), game)
    return {key: float(values[(i,)]) for i, key in enumerate(places)}


def by_preset(name: str, **settings: Any) -> Callable[[Documents], Lists]:
    """One of our presets within its calls; a scan is given as many documents as leave calls for its tests."""

    def contender(given: Documents) -> Lists:
        chosen = preset(name, seed=given.seed, **settings)
        predicted = given.calls * PREDICTIONS_SHARE
        if not strategy(chosen.strategy).draws_documents and len(given.texts) > predicted:
            chosen = preset(name, seed=given.seed, sample_documents=predicted / len(given.texts), **settings)
        noise = named_perturbator(given.perturbator, top_n=chosen.top_n) if score_perturbs(chosen) else None
        budget = Budget(max_model_calls=given.calls)
        *_, last = Run(read_texts(given.texts), given.predictor, noise, chosen, budget=budget).snapshots()
        return {label: [term.term for term in one.terms] for label, one in last.explanations.items()}

    return contender


def gradient(given: Documents) -> Lists:
    """Gradient x input of the label's probability, summed over a term's pieces; for torch models."""
    from benchmarks.gradients import word_gradients

    return _summed(given, lambda text: 0, lambda text, label: word_gradients(given.predictor.inner, text, label))


_RULE = {"fill": "one-pass", "test": "kl-one-step"}
CONTENDERS: Mapping[str, Callable[[Documents], Lists]] = {
    "frequency": frequency,
    "surrogate": surrogate,
    "surrogate, then tests": surrogate_then_tests,
    "occlusion": occlusion,
    "lime": signed_lime,
    "shap": signed_shap,
    "shapiq Shapley, permutations": with_shapiq("PermutationSamplingSV", {}),
    "shapiq Shapley, regression": with_shapiq("KernelSHAP", {}),
    "shapiq Banzhaf, regression": with_shapiq("RegressionFBII", {"max_order": 1}),
    "shapiq Banzhaf, SVARM": with_shapiq("SVARM", {"index": "BV"}),
    "paper": by_preset("paper", **_RULE),
    "paper-optimised": by_preset("paper-optimised", fill="one-pass"),
    "banzhaf": by_preset("banzhaf"),
    "banzhaf, every word": by_preset("banzhaf", stop_words="none", min_occurrences=1),
    "fast": by_preset("fast"),
    "fast, no surrogate": by_preset("fast", surrogate=False),
    "fast, all calls": by_preset("fast", regret=0.0),
}
TORCH_ONLY: Mapping[str, Callable[[Documents], Lists]] = {"gradient": gradient}
UNLIMITED: Mapping[str, Callable[[Documents], Lists]] = {
    "lime, 1,000 samples": lambda given: signed_lime(given, 1000),
    "shap, 500 evaluations": lambda given: signed_shap(given, 500),
    "paper, to its end": by_preset("paper", **_RULE),
    "paper-optimised, to its end": by_preset("paper-optimised", fill="one-pass"),
    "fast, to its end": by_preset("fast"),
    "banzhaf, to its end": by_preset("banzhaf"),
}
"""Contenders at their own defaults, on all documents, whatever that takes.

The others have no defaults that would take more than the row of 1,000 or more calls has given them: `frequency`,
`surrogate` and `gradient` want one call for each document, `occlusion` of all documents is the oracle of deletion, and
an approximator of shapiq is always told its number of calls."""


def _affordable(given: Documents, calls_of: Callable[[str], int]) -> list[str]:
    """Texts at random for which the calls suffice, each with one call for its prediction."""
    left = given.calls
    chosen = []
    for i in given.order:
        cost = 1 + calls_of(given.texts[i])
        if cost > left:
            break
        left -= cost
        chosen.append(given.texts[i])
    return chosen


def _summed(given: Documents, calls_of: Callable[[str], int], local: Callable[[str, str], Weights]) -> Lists:
    """The weights of a local method, summed with their sign over the documents of each label."""
    texts = _affordable(given, calls_of)
    sums: list[dict[str, float]] = [{} for _ in given.predictor.labels]
    predicted = given.ask(texts).argmax(axis=1).tolist() if texts else []
    for text, label in zip(texts, predicted):
        for key, weight in local(text, given.predictor.labels[label]).items():
            sums[label][key] = sums[label].get(key, 0.0) + weight
    return given.ranked(sums)
