"""What every perturbator promises. To put your own to the test, add it to ``perturbator`` below."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.embedded import EmbeddedPerturbator
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.perturbators.masked_lm import MaskedLMPerturbator
from anchorscope.testing.perturbator import masks_for, spread
from anchorscope.text.words import split
from anchorscope.types import Perturbator, Proposals, Words
from tests.test_embedded import build_embedded
from tests.test_perturbators import build_bert, build_roberta

TEXTS = [
    split(text)
    for text in (
        "The cat sat on the mat.",
        "Don't!",
        "A GOOD film, a good cat & a dog 🙂",
        "",
        "  \n",
        "Paris",
        "xyzzy 漢字 naïve l'été [MASK] <mask> ##ing",
        "the dog ran fast. " * 20,
    )
]
NEARLY = 1e-5
"""Torch sums in an order that depends on the batch; the others answer the same to the last bit."""


@pytest.fixture(scope="module", params=["mask-token", "removal", "corpus", "embedded", "bert", "roberta"])
def perturbator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Perturbator:
    fitted = make(request.param, tmp_path_factory.mktemp(request.param))
    fitted = fitted.fit(TEXTS)
    return fitted


def make(name: str, folder: Path) -> Perturbator:
    match name:
        case "mask-token":
            return MaskTokenPerturbator("UNKWORDZ")
        case "removal":
            return MaskTokenPerturbator()
        case "corpus":
            return CorpusPerturbator(top_n=15)
        case "embedded":
            return EmbeddedPerturbator(folder=build_embedded(folder), top_n=20)
        case "bert":
            return MaskedLMPerturbator(build_bert(folder), top_n=10)
        case "roberta":
            return MaskedLMPerturbator(build_roberta(folder), top_n=10)
    raise AssertionError(name)


def assert_same(perturbator: Perturbator, one: Proposals, other: Proposals) -> None:
    if isinstance(perturbator, MaskedLMPerturbator):
        np.testing.assert_allclose(spread(perturbator, one), spread(perturbator, other), atol=NEARLY)
    else:
        np.testing.assert_array_equal(one.words, other.words)
        np.testing.assert_array_equal(one.probabilities, other.probabilities)


def proposed_words(perturbator: Perturbator, proposals: Proposals) -> set[str]:
    return {perturbator.vocabulary[number] for number in np.unique(proposals.words[proposals.probabilities > 0])}


def test_it_has_what_the_contract_names(perturbator: Perturbator) -> None:
    assert isinstance(perturbator, Perturbator)
    assert perturbator.name and perturbator.fingerprint
    assert isinstance(perturbator.cased, bool) and isinstance(perturbator.knows_originals, bool)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_there_is_a_distribution_for_every_masked_word(perturbator: Perturbator, share: float) -> None:
    masks = masks_for(TEXTS, share)
    proposals = perturbator.propose(TEXTS, masks)
    assert proposals.words.dtype == np.int32 and proposals.probabilities.dtype == np.float32
    assert proposals.words.shape == proposals.probabilities.shape
    assert len(proposals.words) == sum(mask.sum() for mask in masks)
    assert proposals.words.min() >= 0 and proposals.words.max() < len(perturbator.vocabulary)
    assert proposals.probabilities.min() >= 0
    np.testing.assert_allclose(proposals.probabilities.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("masks", [[], [False] * 3])
def test_nothing_masked_means_no_rows(perturbator: Perturbator, masks: list[bool]) -> None:
    texts = [split("the cat sat")] if masks else []
    proposals = perturbator.propose(texts, [np.array(masks)] if masks else [])
    assert len(proposals.words) == len(proposals.probabilities) == 0


def test_a_word_is_proposed_at_most_once_a_row(perturbator: Perturbator) -> None:
    proposals = perturbator.propose(TEXTS, masks_for(TEXTS, 0.5))
    for words, probabilities in zip(proposals.words, proposals.probabilities, strict=True):
        there = words[probabilities > 0]
        assert len(np.unique(there)) == len(there)


def test_only_words_are_proposed(perturbator: Perturbator) -> None:
    """Each is one word of ours: no special piece, no part of a word, nothing empty (but for removal)."""
    for word in proposed_words(perturbator, perturbator.propose(TEXTS, masks_for(TEXTS, 0.5))):
        assert split(word).words == (word,) or (perturbator.name == "mask-token" and not word)


def test_proposals_have_capitals_only_where_the_perturbator_says_so(perturbator: Perturbator) -> None:
    if not perturbator.cased:
        proposals = perturbator.propose(TEXTS, masks_for(TEXTS, 0.5))
        assert all(word == word.lower() for word in proposed_words(perturbator, proposals))


def test_an_answer_does_not_depend_on_what_else_is_asked(perturbator: Perturbator) -> None:
    masks = masks_for(TEXTS, 0.5)
    together = perturbator.propose(TEXTS, masks)
    alone = [perturbator.propose([text], [mask]) for text, mask in zip(TEXTS, masks, strict=True)]
    joined = Proposals(
        np.concatenate([part.words for part in alone]), np.concatenate([part.probabilities for part in alone])
    )
    assert_same(perturbator, together, joined)


def test_what_stands_under_a_mask_is_not_seen(perturbator: Perturbator) -> None:
    masks = masks_for(TEXTS, 0.5)
    others = [
        Words(tuple("dog" if hidden else word for word, hidden in zip(text.words, mask, strict=True)), text.gaps)
        for text, mask in zip(TEXTS, masks, strict=True)
    ]
    assert_same(perturbator, perturbator.propose(TEXTS, masks), perturbator.propose(others, masks))


def test_a_copy_in_another_process_answers_the_same(perturbator: Perturbator) -> None:
    copy = pickle.loads(pickle.dumps(perturbator))
    masks = masks_for(TEXTS, 0.5)
    assert copy.fingerprint == perturbator.fingerprint
    assert tuple(copy.vocabulary) == tuple(perturbator.vocabulary)
    assert_same(perturbator, perturbator.propose(TEXTS, masks), copy.propose(TEXTS, masks))


def test_fitting_again_in_another_order_changes_nothing(perturbator: Perturbator) -> None:
    before, masks = perturbator.fingerprint, masks_for(TEXTS, 0.5)
    expected = perturbator.propose(TEXTS, masks)
    perturbator = perturbator.fit(TEXTS[::-1])
    assert perturbator.fingerprint == before
    assert_same(perturbator, expected, perturbator.propose(TEXTS, masks))
