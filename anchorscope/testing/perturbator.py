"""What every perturbator promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from anchorscope.text.words import split
from anchorscope.types import Perturbator, Proposals, Words

TEXTS = tuple(
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
)
NEARLY = 1e-5
"""Torch sums in an order that depends on the batch; others answer the same to the last bit."""

Make = Callable[[], Perturbator]


def has_what_the_contract_names(make: Make) -> None:
    """A name, a vocabulary, a fingerprint, and the two things that a filling wants to know."""
    fitted = _fitted(make)
    assert isinstance(fitted, Perturbator)
    assert fitted.name and fitted.fingerprint and len(fitted.vocabulary)
    assert isinstance(fitted.cased, bool) and isinstance(fitted.knows_originals, bool)


def proposes_a_distribution_for_every_masked_word(make: Make) -> None:
    """Vocabulary numbers and probabilities with the sum 1, a row a mask; and no row where nothing is masked."""
    fitted = _fitted(make)
    for share in (0.1, 0.5, 1.0, 0.0):
        masks = masks_for(TEXTS, share)
        proposals = fitted.propose(TEXTS, masks)
        assert proposals.words.dtype == np.int32 and proposals.probabilities.dtype == np.float32
        assert proposals.words.shape == proposals.probabilities.shape
        assert len(proposals.words) == sum(int(mask.sum()) for mask in masks)
        if len(proposals.words):
            assert proposals.words.min() >= 0 and proposals.words.max() < len(fitted.vocabulary)
            assert proposals.probabilities.min() >= 0
            assert np.allclose(proposals.probabilities.sum(axis=1), 1, atol=1e-5)


def does_not_look_under_a_mask(make: Make) -> None:
    """Another word under the mask changes nothing."""
    fitted = _fitted(make)
    mask = [np.array([False, True, False])]
    one = fitted.propose([split("the cat sat")], mask)
    assert_same(fitted, one, fitted.propose([split("the dog sat")], mask))


def answers_alike_whatever_stands_beside_a_text(make: Make) -> None:
    """The proposals of a text do not depend on its batch."""
    fitted = _fitted(make)
    masks = masks_for(TEXTS, 0.5)
    together = fitted.propose(TEXTS, masks)
    alone = [fitted.propose([text], [mask]) for text, mask in zip(TEXTS, masks) if mask.any()]
    width = together.words.shape[1]
    words = np.concatenate([one.words[:, :width] for one in alone])
    assert_same(fitted, together, Proposals(words, np.concatenate([one.probabilities for one in alone])))


def stays_as_it_is_once_it_has_learnt(make: Make) -> None:
    """What has learnt from some texts does not change when others are learnt from: a run may go on beside another."""
    made = make()
    fitted = made.fit(TEXTS)
    before = fitted.fingerprint
    proposals = fitted.propose(TEXTS, masks_for(TEXTS, 0.5))
    made.fit([split("quite other words")])
    fitted.fit([split("and others yet")])
    assert fitted.fingerprint == before
    assert_same(fitted, proposals, fitted.propose(TEXTS, masks_for(TEXTS, 0.5)))


def two_that_saw_the_same_agree(make: Make) -> None:
    """The order of the texts is no matter, and the fingerprint is that of what was learnt."""
    one = make().fit(TEXTS)
    other = make().fit(TEXTS[::-1])
    assert one.fingerprint == other.fingerprint
    assert_same(one, one.propose(TEXTS, masks_for(TEXTS, 0.5)), other.propose(TEXTS, masks_for(TEXTS, 0.5)))


def masks_for(texts: Sequence[Words], share: float, seed: int = 0) -> list[NDArray[np.bool_]]:
    """A share of the words of each text, at random."""
    random = np.random.default_rng(seed)
    return [random.random(len(text)) < share for text in texts]


def spread(perturbator: Perturbator, proposals: Proposals) -> NDArray[np.float64]:
    """Proposals as probabilities over the whole vocabulary: (rows, vocabulary)."""
    table = np.zeros((len(proposals.words), len(perturbator.vocabulary)))
    np.add.at(table, (np.arange(len(table))[:, None], proposals.words), proposals.probabilities)
    return table


def assert_same(perturbator: Perturbator, one: Proposals, other: Proposals) -> None:
    """The same probabilities, but for rounding."""
    assert np.allclose(spread(perturbator, one), spread(perturbator, other), atol=NEARLY)


def _fitted(make: Make) -> Perturbator:
    return make().fit(TEXTS)


CHECKS = (
    has_what_the_contract_names,
    proposes_a_distribution_for_every_masked_word,
    does_not_look_under_a_mask,
    answers_alike_whatever_stands_beside_a_text,
    two_that_saw_the_same_agree,
    stays_as_it_is_once_it_has_learnt,
)
