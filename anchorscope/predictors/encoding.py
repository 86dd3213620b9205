"""Texts as the rows of numbers that a Hugging Face model reads.

The tokenizers of transformers build dictionaries, offsets and type numbers for every text, which takes longer than
cutting it. A *fast* tokenizer (nearly all are) has its own engine inside; asked directly it gives the same numbers in a
fraction of the time. A tokenizer without one, or one that marks texts in a way of its own, is asked as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

Encode = Callable[[Sequence[str]], Mapping[str, Any]]

PROBE = ["a", "two words"]
"""Texts of different lengths, on which the short way is compared with the usual one."""


def encoder(tokenizer: Any, truncation: Mapping[str, Any], *, pinned: bool = False) -> Encode:
    """A function from texts to tensors (texts, pieces); ``pinned``: in memory from which a card reads by itself."""
    if tokenizer.is_fast and tokenizer.pad_token_id is not None:
        direct = _Direct(tokenizer, truncation, pinned)
        if direct.agrees_with(_Usual(tokenizer, truncation)):
            return direct
    return _Usual(tokenizer, truncation)


class _Usual:
    """The tokenizer as transformers calls it."""

    def __init__(self, tokenizer: Any, truncation: Mapping[str, Any]) -> None:
        self._tokenizer, self._truncation = tokenizer, dict(truncation)

    def __call__(self, texts: Sequence[str]) -> Mapping[str, Any]:
        encoded: Mapping[str, Any] = self._tokenizer(
            list(texts), padding=len(texts) > 1, return_tensors="pt", **self._truncation
        )
        return encoded


class _Direct:
    """The engine inside a fast tokenizer: numbers only, padded on the right."""

    def __init__(self, tokenizer: Any, truncation: Mapping[str, Any], pinned: bool) -> None:
        import tokenizers

        self._pad, self._pinned = tokenizer.pad_token_id, pinned
        self._engine = tokenizers.Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._engine.no_padding()
        self._engine.no_truncation()
        if truncation:
            self._engine.enable_truncation(truncation["max_length"])
        self._cut = getattr(self._engine, "encode_batch_fast", self._engine.encode_batch)

    def __call__(self, texts: Sequence[str]) -> Mapping[str, Any]:
        import torch

        lines = [encoding.ids for encoding in self._cut(list(texts))]
        lengths = np.array([len(line) for line in lines])
        attention = np.arange(lengths.max(initial=1)) < lengths[:, None]
        pieces = np.full(attention.shape, self._pad, np.int64)
        pieces[attention] = np.fromiter(chain.from_iterable(lines), np.int64, int(lengths.sum()))
        tensors = {
            "input_ids": torch.from_numpy(pieces),
            "attention_mask": torch.from_numpy(attention.astype(np.int64)),
        }
        return {name: tensor.pin_memory() for name, tensor in tensors.items()} if self._pinned else tensors

    def agrees_with(self, usual: _Usual) -> bool:
        """Whether the model would read the same: the same numbers, and no others that matter."""
        expected, found = dict(usual(PROBE)), self(PROBE)
        types = expected.pop("token_type_ids", None)
        return (
            expected.keys() == found.keys()
            and all(expected[name].tolist() == found[name].tolist() for name in found)
            and (types is None or not bool(types.any()))
        )
