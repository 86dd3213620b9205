"""Every masked word becomes one fixed token, or is taken out.

The plainest noise there is: no weights, any language, and the same answer everywhere.

>>> import numpy as np
>>> text = Words(("not", "bad"), ("", " ", ""))
>>> proposals = MaskTokenPerturbator("UNKWORDZ").propose([text], [np.array([True, False])])
>>> proposals.words.tolist(), proposals.probabilities.tolist()
([[0]], [[1.0]])
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from anchorscope.types import Proposals, Words


class MaskTokenPerturbator:
    """One proposal for every masked word: the token; the empty token, the default, removes the word."""

    cased = True
    knows_originals = False

    def __init__(self, token: str = "") -> None:
        self.token = token
        self.name = f"mask-token:{token}" if token else "mask-token"
        self.vocabulary: Sequence[str] = (token,)
        self.fingerprint = sha256(token.encode("utf-8", "surrogatepass")).hexdigest()

    @classmethod
    def named(cls, argument: str, *, top_n: int, device: str) -> MaskTokenPerturbator:
        """The perturbator as the command line names it, with its token."""
        return cls(argument)

    def fit(self, texts: Sequence[Words]) -> MaskTokenPerturbator:
        """There is nothing to learn."""
        return self

    def propose(self, texts: Sequence[Words], masks: Sequence[NDArray[np.bool_]]) -> Proposals:
        """The token, for certain."""
        n_rows = sum(int(mask.sum()) for mask in masks)
        return Proposals(np.zeros((n_rows, 1), np.int32), np.ones((n_rows, 1), np.float32))
