"""Every choice that a result depends on, with its checks: what cannot be is refused before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType, NoneType
from typing import Any

import numpy as np

from anchorscope import registry
from anchorscope.errors import InputError, UnknownNameError, in_a_line
from anchorscope.sampling.draws import KEEP_POLICIES
from anchorscope.sampling.engine import Sampling
from anchorscope.sampling.fills import BANK_DRAWS, FILLINGS
from anchorscope.sampling.sequential_test import TESTS, SequentialTest
from anchorscope.scoring.aggregation import Aggregation
from anchorscope.scoring.aggregations import aggregation as resolved_aggregation
from anchorscope.scoring.empty_anchor import ROBUST, WEIGHTS, EmptyAnchorRule
from anchorscope.settings.strategies import strategy
from anchorscope.text.rule import PLAIN, USUAL, checked_kinds
from anchorscope.text.words import STOP_WORDS
from anchorscope.types import LocalScore, Predictor, counts_anchors

FILTERS = ("none", "optimistic", "sound")
ORDERS = ("confidence", "confidence-ascending", "random", "length")
CONDITIONS = ("kept", "present")
PLUGS = ("aggregation", "score", "strategy")
"""The settings that name something of the registry."""

NO_PERTURBATOR = "none"
"""The name of the perturbator of a local score that replaces no words; runs are kept under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a result depends on besides the documents, the model and the perturbator."""

    seed: int = 0
    labels: tuple[str, ...] | None = None
    top_k: int = 20
    score: str | None = None
    aggregation: str = "total"
    alpha: float = 0.5

    test: str = "fixed"
    tau: float = 0.95
    delta: float = 0.1
    epsilon: float = 0.05
    look: int = 10
    max_samples: int = 24

    keep: str = "balanced"
    fill: str = "blind"
    bank_pairs: int = 1
    bank_draw: str = "position"
    top_n: int = 50
    condition: str = "kept"
    robust: str = "keep"
    lift: float = 0.0
    weight: str = "equal"

    strategy: str = "race"
    regret: float = 0.02
    surrogate: bool = True
    order: str = "confidence"
    filter: str = "none"
    tau_tilde: bool = False
    omega: float = 0.4
    round_size: int = 64

    terms: str | None = None
    stop_words: str = "none"
    min_occurrences: int = 1
    sample_documents: float = 1.0
    max_words: int = 2000

    def __post_init__(self) -> None:
        """Refuse what cannot be, in one sentence."""
        for field in fields(self):  # plain values, so that a setting read back from JSON is equal
            value = getattr(self, field.name)
            # A number of numpy, from a search over settings for example, would not survive JSON as it is.
            is_scalar = hasattr(value, "item") and np.ndim(value) == 0
            object.__setattr__(self, field.name, value.item() if is_scalar else value)
            kind, said = _KINDS.get(str(field.type), (object, ""))
            if not isinstance(getattr(self, field.name), kind):
                raise InputError(f"{_option(field.name)} must be {said}, not {in_a_line(value)}.")
        if self.labels is not None:
            listed = isinstance(self.labels, list | tuple)
            if not listed or not all(isinstance(label, str) for label in self.labels):
                raise InputError(f"labels must be a list of names, not {in_a_line(self.labels)}.")
            object.__setattr__(self, "labels", tuple(self.labels))
        # Names before ranges before what goes together: the first fault that is told is the one to mend first.
        for name, known in _NAMED.items():
            if getattr(self, name) not in known:
                raise UnknownNameError(name.replace("_", " "), getattr(self, name), known)
        for name in PLUGS:
            if getattr(self, name) is not None:
                registry.resolve(name, getattr(self, name))
        for name, (low, high, closed) in _RANGES.items():
            value = getattr(self, name)
            inside = low <= value <= high if closed else low < value < high
            if not inside:
                span = f"from {low} to {high}" if closed else f"between {low} and {high}, both excluded"
                raise InputError(f"{_option(name)} must be {span}, not {value}.")
        aggregation = resolved_aggregation(self.aggregation)
        # After the names are known to be right: what a score is if not given follows from the aggregation.
        if self.score is None:
            object.__setattr__(self, "score", "occlusion" if aggregation.is_graded else "anchor")
        self._check_terms()
        self._check_aggregation(aggregation)
        self._check_filter(aggregation)
        self._check_strategy(aggregation)
        self._check_samples(aggregation)

    def _check_terms(self) -> None:
        """Terms of several words can be left out, but not replaced."""
        # What stands in for a word is one word: there is nothing of the kind for a hashtag or a link.
        replaces = score_perturbs(self)
        kinds = checked_kinds((PLAIN if replaces else ",".join(USUAL)) if self.terms is None else self.terms)
        if replaces and kinds != PLAIN:
            raise InputError(
                f"--terms {kinds} has terms of several words, and --score {self.score} replaces words one by one: use "
                f"--terms {PLAIN}, or --score occlusion."
            )
        object.__setattr__(self, "terms", kinds)

    def _check_aggregation(self, aggregation: Aggregation) -> None:
        """An aggregation adds up what the local score gives."""
        if aggregation.is_graded and not score_is_graded(str(self.score)):
            raise InputError(
                f"The aggregation {self.aggregation!r} adds up graded values, and --score {self.score} says yes or no: "
                f"use one of {_scores_of(lambda one: one.is_graded)}, or another --aggregation."
            )
        if aggregation.reads == "verdicts" and not score_counts_anchors(str(self.score)):
            raise InputError(
                f"The aggregation {self.aggregation!r} counts anchors, and --score {self.score} tests none: use "
                f"one of {_scores_of(counts_anchors)}, or --aggregation total."
            )
        if aggregation.joins_labels and self.labels is not None:
            raise InputError(
                f"The aggregation {self.aggregation!r} compares all labels of a model: leave out --label, or use "
                "another --aggregation."
            )
        if self.weight != "equal" and not aggregation.is_graded:
            raise InputError(
                f"--weight {self.weight} weighs values, and the aggregation {self.aggregation!r} counts anchors: "
                "use --weight equal, or --aggregation total."
            )

    def _check_filter(self, aggregation: Aggregation) -> None:
        """A filter needs to know what a score can become."""
        if self.filter == "sound" and not aggregation.prunes:
            raise InputError(
                f"--filter sound knows no bound for the aggregation {self.aggregation!r}; "
                f"it is there for {_names_of(lambda one: one.prunes)}: use --filter none."
            )
        if self.filter == "optimistic" and aggregation.optimistic is None:
            raise InputError(
                f"--filter optimistic knows no pseudo-score for the aggregation {self.aggregation!r}; "
                f"it is there for {_names_of(lambda one: one.optimistic is not None)}: use --filter none."
            )

    def _check_strategy(self, aggregation: Aggregation) -> None:
        """Estimates from a sample of the documents need totals that add up; and a strategy reads what it is given."""
        chosen = strategy(self.strategy)
        if chosen.counts_prefixes and not aggregation.can_race:
            raise InputError(
                f"--strategy {self.strategy} knows no form of the aggregation {self.aggregation!r}; "
                f"it is there for {_names_of(lambda one: one.can_race)}: use --strategy scan."
            )
        usual = {"filter": "none", "tau_tilde": False, "order": "confidence"}
        if any(getattr(self, name) != value for name, value in usual.items() if name not in chosen.reads):
            raise InputError("--filter, --tau-tilde and --order belong to the scan: use --strategy scan with them.")

    def _check_samples(self, aggregation: Aggregation) -> None:
        """What is kept, filled and tested goes together."""
        if aggregation.is_graded and self.keep == "own":
            raise InputError(
                f"The aggregation {self.aggregation!r} compares samples with and without a word, and --keep own has "
                "none without: use --keep shared, or another --aggregation."
            )
        if self.keep == "balanced" and self.test != "fixed":
            raise InputError(
                f"--keep balanced weighs its samples against each other, and --test {self.test} needs independent "
                "ones: use --keep shared, or --test fixed."
            )
        if self.fill != "bank" and (self.bank_pairs != 1 or self.bank_draw != "position"):
            raise InputError("--bank-pairs and --bank-draw belong to a bank: use --fill bank with them.")

    @property
    def sampling(self) -> Sampling:
        """The part that a sample depends on."""
        return Sampling(self.seed, self.keep, self.fill, self.condition, self.bank_pairs, self.bank_draw)

    @property
    def empty_anchor_rule(self) -> EmptyAnchorRule:
        """What a measurement counts for, in the light of its document's empty anchor."""
        return EmptyAnchorRule(self.robust, self.lift, self.weight)

    @property
    def tests_empty_anchor(self) -> bool:
        """Whether the empty anchor of each document is tested: for free where a document's samples are shared; where
        every token has its own, only if a rule reads it.

        >>> own = {"score": "anchor", "aggregation": "pr", "keep": "own", "test": "kl", "strategy": "scan"}
        >>> Settings(**own).tests_empty_anchor, Settings(**own, robust="drop").tests_empty_anchor
        (False, True)
        """
        return score_tests_anchors(str(self.score)) and (self.keep != "own" or self.empty_anchor_rule.is_read)

    @property
    def anchor_test(self) -> SequentialTest:
        """The part that a verdict depends on, besides its threshold."""
        return SequentialTest(self.test, self.delta, self.epsilon, self.look, self.max_samples)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """The settings that ``to_dict`` wrote; before there were kinds of terms, all were plain words.

        >>> Settings.from_dict(Settings(seed=3).to_dict()).seed
        3
        """
        for name in values:
            if name not in {field.name for field in fields(cls)}:
                raise UnknownNameError("setting", str(name), [field.name for field in fields(cls)])
        return cls(**{"terms": PLAIN, **values})


_NAMED: Mapping[str, Iterable[str]] = MappingProxyType(
    {
        "test": TESTS,
        "keep": KEEP_POLICIES,
        "fill": FILLINGS,
        "bank_draw": BANK_DRAWS,
        "condition": CONDITIONS,
        "robust": ROBUST,
        "weight": WEIGHTS,
        "order": ORDERS,
        "filter": FILTERS,
        "stop_words": STOP_WORDS,
    }
)

_ANY = 10**9


def _names_of(fits: Callable[[Aggregation], bool]) -> str:
    """The names of the aggregations that fit."""
    return ", ".join(name for name in registry.names("aggregation") if fits(registry.resolve("aggregation", name)))


def _scores_of(fits: Callable[[type[LocalScore]], bool]) -> str:
    """The local scores that fit, as options; those of others that do not say what they are, do not."""
    every = {name: registry.resolve("score", name) for name in registry.names("score")}
    known = {name: one for name, one in every.items() if hasattr(one, "is_graded") and hasattr(one, "tests_anchors")}
    return "--score " + ", ".join(name for name, one in known.items() if fits(one))


_KINDS: Mapping[str, tuple[Any, str]] = {
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "str": (str, "a name"),
    "str | None": ((str, NoneType), "a name"),
    "bool": (bool, "true or false"),
}

_RANGES: Mapping[str, tuple[float, float, bool]] = MappingProxyType(
    {
        "seed": (0, 2**63 - 1, True),
        "top_k": (1, _ANY, True),
        "alpha": (0, 1, False),
        "tau": (0, 1, False),
        "delta": (0, 1, False),
        "epsilon": (0, 1, False),
        "look": (1, _ANY, True),
        "max_samples": (1, _ANY, True),
        "bank_pairs": (1, 1000, True),
        "top_n": (1, _ANY, True),
        "lift": (0, 1, True),
        "regret": (0, 1, True),
        "omega": (0, 1, True),
        "round_size": (1, _ANY, True),
        "min_occurrences": (1, _ANY, True),
        "sample_documents": (1e-9, 1, True),
        "max_words": (1, _ANY, True),
    }
)


def score_is_graded(name: str) -> bool:
    """Whether the values of a local score are effects, and not a yes or no.

    >>> score_is_graded("banzhaf"), score_is_graded("anchor")
    (True, False)
    """
    return _said(name, "is_graded", "its values are graded")


def score_tests_anchors(name: str) -> bool:
    """Whether a local score reads if perturbed texts keep the decision, so that the empty anchor is asked about.

    >>> score_tests_anchors("anchor"), score_tests_anchors("banzhaf"), score_tests_anchors("occlusion")
    (True, True, False)
    """
    return _said(name, "tests_anchors", "it tests anchors")


def score_counts_anchors(name: str) -> bool:
    """Whether what it reads are verdicts on anchors, so that there are some to count.

    >>> score_counts_anchors("anchor"), score_counts_anchors("banzhaf"), score_counts_anchors("occlusion")
    (True, False, False)
    """
    return score_tests_anchors(name) and not score_is_graded(name)


def score_perturbs(settings: Settings) -> bool:
    """Whether the local score replaces words, and so needs a perturbator.

    >>> score_perturbs(Settings(score="banzhaf")), score_perturbs(Settings())
    (True, False)
    """
    return _said(str(settings.score), "perturbs", "it replaces words")


def score_shares_calls(settings: Settings) -> bool:
    """Whether the calls for one term of a document serve all of them, so that there are samples to count.

    >>> score_shares_calls(Settings()), score_shares_calls(Settings(score="shapley"))
    (False, True)
    """
    return _said(str(settings.score), "shares_calls", "its calls serve all words of a document")


def check_score(settings: Settings, predictor: Predictor) -> None:
    """Refuse a model that the local score cannot serve, and a score whose package is missing, before any call."""
    check = getattr(registry.resolve("score", str(settings.score)), "check", None)
    if check is not None:
        check(predictor)


def needs_perturbator(settings: Settings, given: object = None) -> bool:
    """Whether the local score replaces words; refuses a perturbator for nothing, and ``none`` where one is needed.

    >>> needs_perturbator(Settings(score="banzhaf")), needs_perturbator(Settings(), NO_PERTURBATOR)
    (True, False)
    """
    perturbs = score_perturbs(settings)
    is_none = isinstance(given, str) and given == NO_PERTURBATOR
    if perturbs and is_none:
        raise InputError(
            f"The local score {settings.score} replaces words, and the perturbator none has none to put in their "
            f"place: leave --perturbator out, or name one ({', '.join(registry.names('perturbator'))})."
        )
    if not perturbs and given is not None and not is_none:
        raise InputError(
            f"A perturbator replaces words, and the local score {settings.score} only leaves them out: leave "
            "--perturbator out, or choose --preset banzhaf or a paper preset."
        )
    return perturbs


def _said(score: str, attribute: str, what: str) -> bool:
    """What a local score says of itself, before one is made."""
    said = getattr(registry.resolve("score", score), attribute, None)
    if not isinstance(said, bool):
        raise InputError(
            f"The local score {score!r} does not say whether {what}; give what makes it an attribute {attribute}, "
            "True or False."
        )
    return said


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
