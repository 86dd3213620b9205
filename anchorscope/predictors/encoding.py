"""Texts as the rows of numbers that a Hugging Face model reads.

The tokenizers of transformers build dictionaries, offsets and type numbers for every text, which takes longer than
cutting it. A *fast* tokenizer (nearly all are) has its own engine inside; asked directly it gives the same numbers in a
fraction of the time, on all cores. And perturbed texts are made of few words: where a tokenizer cuts at spaces before
it does anything else (BERT and its kin do), what stands between two spaces can be cut once and remembered. On one core
that takes a third of the engine's time for perturbed texts and three quarters for documents; so where there are many
cores, the engine is asked.

A tokenizer without an engine, or one that marks texts in a way of its own, is asked as usual.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

Encode = Callable[[Sequence[str]], Mapping[str, Any]]

PROBE = ["a", "two  words, [MASK]it\u00e9?\n", ""]
"""Texts of different lengths, on which the short way is compared with the usual one."""

SPLITS_AT_SPACES = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")
LOCAL_NORMALIZERS = {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}
"""Kinds of pre-tokenizers that drop spaces, and of normalizers to which a space is a border."""

MANY_CORES = 8
"""An eighth of the engine's time on one core is less than it takes to put a text together from what is remembered."""

REMEMBERED = 1 << 20
"""Stretches between spaces that are remembered, before all are forgotten."""


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
        described = tokenizer.backend_tokenizer.to_str()
        self._engine = tokenizers.Tokenizer.from_str(described)
        self._engine.no_padding()
        self._engine.no_truncation()
        self._cut = getattr(self._engine, "encode_batch_fast", self._engine.encode_batch)
        self._limit = truncation.get("max_length")
        self._by_stretch = (os.cpu_count() or 1) < MANY_CORES and _cuts_at_spaces(json.loads(described))
        self._known: dict[str, list[int]] = {}
        self._begin, self._end = self._frame()
        if self._limit and not self._by_stretch:
            self._engine.enable_truncation(self._limit)

    def __call__(self, texts: Sequence[str]) -> Mapping[str, Any]:
        import torch

        lines = self._stretch_by_stretch(texts) if self._by_stretch else [e.ids for e in self._cut(list(texts))]
        lengths = np.array([len(line) for line in lines])
        attention = np.arange(lengths.max(initial=1)) < lengths[:, None]
        pieces = np.full(attention.shape, self._pad, np.int64)
        pieces[attention] = np.fromiter(chain.from_iterable(lines), np.int64, int(lengths.sum()))
        arrays = {"input_ids": pieces, "attention_mask": attention.astype(np.int64)}
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return {name: tensor.pin_memory() for name, tensor in tensors.items()} if self._pinned else tensors

    def _stretch_by_stretch(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of each text, put together from what stands between its spaces."""
        cut = [text.split(" ") for text in texts]
        new = list({stretch for stretches in cut for stretch in stretches} - self._known.keys())
        if len(self._known) + len(new) > REMEMBERED:
            self._known.clear()
            new = list({stretch for stretches in cut for stretch in stretches})
        self._known.update(zip(new, (e.ids for e in self._cut(new, add_special_tokens=False))))
        room = self._limit - len(self._begin) - len(self._end) if self._limit else None
        inner = ([*chain.from_iterable(map(self._known.__getitem__, stretches))][:room] for stretches in cut)
        return [[*self._begin, *line, *self._end] for line in inner]

    def _frame(self) -> tuple[list[int], list[int]]:
        """What stands before and behind every text."""
        framed, bare = (self._cut(["a"], add_special_tokens=special)[0].ids for special in (True, False))
        start = next((i for i in range(len(framed)) if framed[i : i + len(bare)] == bare), 0)
        return framed[:start], framed[start + len(bare) :]

    def agrees_with(self, usual: _Usual) -> bool:
        """Whether the model would read the same: the same numbers, and no others that matter."""
        expected, found = dict(usual(PROBE)), self(PROBE)
        types = expected.pop("token_type_ids", None)
        return (
            expected.keys() == found.keys()
            and all(expected[name].tolist() == found[name].tolist() for name in found)
            and (types is None or not bool(types.any()))
        )


def _cuts_at_spaces(described: Mapping[str, Any]) -> bool:
    """Whether a text means to a tokenizer what the stretches between its spaces mean, one after another."""
    steps, normalizer = described["pre_tokenizer"] or {}, described["normalizer"]
    first = (steps.get("pretokenizers") or [steps])[0]
    normalizers = [] if normalizer is None else normalizer.get("normalizers", [normalizer])
    return (
        first.get("type") in SPLITS_AT_SPACES
        and all(_is_local(step) for step in normalizers)
        and not any(" " in token["content"] for token in described["added_tokens"])
    )


def _is_local(normalizer: Mapping[str, Any]) -> bool:
    if normalizer["type"] == "Replace":
        pattern = normalizer["pattern"].get("String", " ")
        return " " not in pattern and " " not in normalizer["content"]
    return normalizer["type"] in LOCAL_NORMALIZERS
