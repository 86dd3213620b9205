"""Texts as the rows of numbers that a Hugging Face model reads.

The tokenizers of transformers build dictionaries, offsets and type numbers for every text, which takes longer than
cutting it. A *fast* tokenizer (nearly all are) has its own engine inside; asked directly it gives the same numbers in a
fraction of the time, on all cores. And perturbed texts are made of few words: where a tokenizer cuts at spaces before
it does anything else (BERT and its kin do), what stands between two spaces can be cut once and remembered. Texts that
come spelled (``types.Spelled``) are then put together from what is remembered, thousands at a time, and never written.
So are others on one core; where there are many cores, the engine is asked.

A tokenizer without an engine, or one that marks texts in a way of its own, is asked as usual.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.predictors.padding import of_equal_length, of_like_length
from anchorscope.text.cut import ranges
from anchorscope.text.pairs import SEPARATOR, is_pair, sides
from anchorscope.types import Spelled

Inputs = Mapping[str, Any]
"""The tensors (texts, pieces) that a model reads, by name."""

Batch = tuple[NDArray[np.intp], Inputs]
"""The numbers of some texts, and their inputs."""

PROBE = ["a", "two  words, [MASK]it\u00e9?\n", ""]
"""Texts of different lengths, on which the short way is compared with the usual one."""

SPLITS_AT_SPACES = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")
LOCAL_NORMALIZERS = {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}
"""Kinds of pre-tokenizers that drop spaces, and of normalizers to which a space is a border."""

MANY_CORES = 8
"""An eighth of the engine's time on one core is less than it takes to cut a text at its spaces."""

PIECES_A_CHARACTER = 4
"""Pieces that a character can become, its bytes: shorter texts are read whole, and need not be cut to know it."""

CUT_AT_ONCE = 4096
"""Texts whose pieces are counted together."""

REMEMBERED = 1 << 21
"""Stretches between spaces and pieces of them that are remembered, before all are forgotten."""


def encoder(
    tokenizer: Any, truncation: Mapping[str, Any], *, pinned: bool = False, accepted: Collection[str] | None = None
) -> Usual | Direct:
    """What makes tensors (texts, pieces) of texts; ``pinned``: in memory from which a card reads by itself.

    ``accepted`` are the inputs that the model has names for; None is all that the tokenizer makes.
    """
    usual = Usual(tokenizer, truncation, accepted)
    if tokenizer.is_fast and tokenizer.pad_token_id is not None and tokenizer.truncation_side == "right":
        direct = Direct(tokenizer, truncation, pinned, usual)
        if direct.agrees_with(usual):
            return direct
    return usual


def unpadded_batches(encode: Usual | Direct, texts: Sequence[str], size: int) -> Iterator[Batch]:
    """Texts of equal length together, each as the tokenizer gives it alone."""
    import torch

    alone = [encode([well_formed(text)]) for text in texts]
    for batch in of_equal_length([inputs["input_ids"].shape[1] for inputs in alone], size):
        some = [alone[number] for number in batch.tolist()]
        yield batch, {name: torch.cat([inputs[name] for inputs in some]) for name in some[0]}


def batches(encode: Usual | Direct, texts: Sequence[str], size: int, overhead: float | None = None) -> Iterator[Batch]:
    """Texts of like length together, so that there is little padding.

    With an ``overhead``, what a batch costs beside its pieces, batches are smaller where that saves more padding
    (``padding.py``); it is known where all texts are cut before the first batch.
    """
    if isinstance(encode, Direct) and encode.puts_together(texts, overhead):
        yield from encode.batches(texts, size, overhead)
        return
    written = list(texts)
    for batch in of_like_length([len(text) for text in written], size):
        yield batch, encode([well_formed(written[number]) for number in batch])


class Usual:
    """The tokenizer as transformers calls it."""

    def __init__(self, tokenizer: Any, truncation: Mapping[str, Any], accepted: Collection[str] | None) -> None:
        self._tokenizer = tokenizer
        self._truncation = dict(truncation)
        self._accepted = accepted

    def __call__(self, texts: Sequence[str]) -> Inputs:
        """The inputs of one batch; those of pairs of texts as the tokenizer joins them."""
        columns = [*zip(*map(sides, texts))] if any(map(is_pair, texts)) else [texts]
        encoded: Inputs = self._tokenizer(
            *map(list, columns), padding=len(texts) > 1, return_tensors="pt", **self._truncation
        )
        return {name: tensor for name, tensor in encoded.items() if self._accepted is None or name in self._accepted}


class Direct:
    """The engine inside a fast tokenizer: numbers only, padded on the right."""

    def __init__(self, tokenizer: Any, truncation: Mapping[str, Any], pinned: bool, usual: Usual) -> None:
        self._usual = usual
        self._pad = tokenizer.pad_token_id
        self._pinned = pinned
        self._engine = _bare_engine(tokenizer)
        self._cut = getattr(self._engine, "encode_batch_fast", self._engine.encode_batch)
        self._limit = truncation.get("max_length")
        self.spells = _cuts_at_spaces(json.loads(self._engine.to_str()))
        self._by_stretch = self.spells and not _has_many_cores()
        # To some models all types at 0 are another input than none (GPT-2 adds the embedding of piece 0 for each).
        self._has_types = "token_type_ids" in usual(PROBE)
        self._known: dict[str, list[int]] = {}
        self._n_remembered = 0
        self._begin, self._end = self._frame()

    def __call__(self, texts: Sequence[str]) -> Inputs:
        """The inputs of one batch; pairs of texts are left to the tokenizer itself."""
        if any(map(is_pair, texts)):
            return self._usual(texts)
        return self._padded(self._of_written(texts), np.arange(len(texts)))

    def puts_together(self, texts: Sequence[str], overhead: float | None) -> bool:
        """Whether all texts are cut at once: spelled ones, or where it saves padding; pairs never are."""
        if isinstance(texts, Spelled):
            return self.spells and SEPARATOR not in texts.stretches
        return overhead is not None and not any(map(is_pair, texts))

    def batches(self, texts: Sequence[str], size: int, overhead: float | None) -> Iterator[Batch]:
        """Texts of like length together."""
        if isinstance(texts, Spelled):
            pieces = self._put_together(texts)
        else:
            pieces = self._of_written([well_formed(text) for text in texts])
        lengths = np.minimum(pieces.lengths, self._limit or inf) + len(self._begin) + len(self._end)
        for batch in of_like_length(lengths, size, overhead):
            yield batch, self._padded(pieces, batch)

    def _of_written(self, texts: Sequence[str]) -> _Pieces:
        return self._put_together(_spelled(texts)) if self._by_stretch else self._asked(texts)

    def _asked(self, texts: Sequence[str]) -> _Pieces:
        """The pieces of texts, cut by the engine."""
        return _Pieces.of([line.ids for line in self._cut(list(texts), add_special_tokens=False)])

    def _put_together(self, texts: Spelled) -> _Pieces:
        """The pieces of texts, put together from those of their stretches."""
        numbers = np.frombuffer(b"".join(texts.numbers), np.int32)
        counts = np.array([len(line) for line in texts.numbers]) // numbers.itemsize
        # Only stretches that are used are cut, each once; ``places`` are their numbers among these.
        used = np.zeros(len(texts.stretches), bool)
        used[numbers] = True
        stretches = _Pieces.of(self._remembered([texts.stretches[number] for number in np.flatnonzero(used).tolist()]))
        places = (np.cumsum(used) - 1)[numbers]
        flat = stretches.flat[ranges(stretches.starts[places], stretches.lengths[places])]
        # A text is as long as its stretches together: sums over the runs that begin where a text does.
        ends = np.cumsum(counts)
        lengths = np.add.reduceat(stretches.lengths[places], ends - counts)
        return _Pieces(flat, np.cumsum(lengths) - lengths, lengths)

    def _remembered(self, stretches: Sequence[str]) -> list[list[int]]:
        """The pieces of each stretch."""
        if self._n_remembered > REMEMBERED:
            self._known.clear()
            self._n_remembered = 0
        new = [stretch for stretch in stretches if stretch not in self._known]
        cut = self._cut([well_formed(stretch) for stretch in new], add_special_tokens=False)
        pieces = [line.ids for line in cut]
        self._known.update(zip(new, pieces))
        self._n_remembered += len(pieces) + sum(map(len, pieces))
        return [self._known[stretch] for stretch in stretches]

    def _padded(self, pieces: _Pieces, numbers: NDArray[np.intp]) -> Inputs:
        """The pieces of some texts as tensors, cut at the longest input, with what stands before and behind."""
        import torch

        n_begin = len(self._begin)
        n_end = len(self._end)
        lengths = pieces.lengths[numbers]
        if self._limit:
            lengths = np.minimum(lengths, self._limit - n_begin - n_end)
        width = int(lengths.max(initial=1 - n_begin - n_end))  # a model reads at least one piece, be it padding
        table = np.full((len(numbers), n_begin + width + n_end), self._pad, np.int64)
        table[:, :n_begin] = self._begin
        table[:, n_begin : n_begin + width][np.arange(width) < lengths[:, None]] = pieces.flat[
            ranges(pieces.starts[numbers], lengths)
        ]
        table[np.arange(len(numbers))[:, None], n_begin + lengths[:, None] + np.arange(n_end)] = self._end
        attention = np.arange(table.shape[1]) < (n_begin + lengths + n_end)[:, None]
        arrays = {"input_ids": table, "attention_mask": attention.astype(np.int64)}
        if self._has_types:
            arrays["token_type_ids"] = np.zeros_like(table)
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return {name: tensor.pin_memory() for name, tensor in tensors.items()} if self._pinned else tensors

    def _frame(self) -> tuple[list[int], list[int]]:
        """What stands before and behind every text."""
        framed, bare = (self._cut(["a"], add_special_tokens=special)[0].ids for special in (True, False))
        start = next((i for i in range(len(framed)) if framed[i : i + len(bare)] == bare), 0)
        return framed[:start], framed[start + len(bare) :]

    def agrees_with(self, usual: Usual) -> bool:
        """Whether the model would read the same, asked or spelled."""
        expected = usual(PROBE)
        ways = [self._asked(PROBE), *([self._put_together(_spelled(PROBE))] if self.spells else [])]
        answers = [self._padded(pieces, np.arange(len(PROBE))) for pieces in ways]
        return all(
            expected.keys() == found.keys() and all(expected[name].tolist() == found[name].tolist() for name in found)
            for found in answers
        )


class Reach:
    """How far into a text a model reads whose tokenizer cuts it at the longest input."""

    def __init__(self, tokenizer: Any, truncation: Mapping[str, Any]) -> None:
        self.tokenizer = tokenizer
        self.truncation = truncation
        self._limit = truncation.get("max_length") if truncation.get("truncation") else None
        self._engine = _bare_engine(tokenizer) if tokenizer.is_fast else None

    def __call__(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Where what is read of each text begins and ends, in characters, (texts, 2)."""
        found = np.array([(0, len(text)) for text in texts], np.int64).reshape(-1, 2)
        if self._limit is None:
            return found
        long = [number for number, text in enumerate(texts) if len(text) * PIECES_A_CHARACTER > self._limit]
        for start in range(0, len(long), CUT_AT_ONCE):
            numbers = long[start : start + CUT_AT_ONCE]
            some = [well_formed(texts[number]) for number in numbers]
            for number, text, is_long in zip(numbers, some, self._may_be_cut(some, self._limit)):
                if is_long:
                    found[number] = self._seen(text, self._limit)
        return found

    def _may_be_cut(self, texts: Sequence[str], limit: int) -> list[bool]:
        """Whether each text has as many pieces as are read, or more; an engine counts those of many at once."""
        if self._engine is None:
            return [True] * len(texts)
        return [len(line.ids) >= limit for line in self._engine.encode_batch(list(texts))]

    def _seen(self, text: str, limit: int) -> tuple[int, int]:
        is_fast = self.tokenizer.is_fast
        if is_pair(text):  # cut on both sides, and what is read is no stretch: words beyond are found to do nothing
            return 0, len(text)
        cut = self.tokenizer(text, truncation=True, max_length=limit, return_offsets_mapping=is_fast)
        if len(cut["input_ids"]) < limit:
            return 0, len(text)
        if is_fast:
            places = [(start, end) for start, end in cut["offset_mapping"] if end > start]
            return min(start for start, _ in places or [(0, 0)]), max(end for _, end in places or [(0, 0)])
        return self._by_halving(text, limit)

    def _by_halving(self, text: str, limit: int) -> tuple[int, int]:
        """The same of a tokenizer that does not say where its pieces are from: the longest part that still fits."""
        at_end = self.tokenizer.truncation_side == "left"
        fits, too_long = 0, len(text) + 1
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            part = text[len(text) - middle :] if at_end else text[:middle]
            if len(self.tokenizer(part, truncation=False, verbose=False)["input_ids"]) <= limit:
                fits = middle
            else:
                too_long = middle
        return (len(text) - fits, len(text)) if at_end else (0, fits)


def _bare_engine(tokenizer: Any) -> Any:
    """The engine inside a fast tokenizer, a copy that neither pads nor cuts off."""
    import tokenizers

    engine = tokenizers.Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    engine.no_padding()
    engine.no_truncation()
    return engine


def _has_many_cores() -> bool:
    """Whether the engine works on many cores at once: there are some, and nobody forbids it."""
    allowed = os.environ.get("TOKENIZERS_PARALLELISM", "").lower() not in ("0", "false", "off", "no", "n", "f")
    return allowed and (os.cpu_count() or 1) >= MANY_CORES


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """The pieces of many texts, one after another; those of text t are ``flat[starts[t]:][:lengths[t]]``."""

    flat: NDArray[np.int64]
    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]

    @classmethod
    def of(cls, lines: Sequence[Sequence[int]]) -> _Pieces:
        """The same of lists."""
        lengths = np.array([len(line) for line in lines], np.intp)
        flat = np.fromiter(chain.from_iterable(lines), np.int64, int(lengths.sum()))
        return cls(flat, np.cumsum(lengths) - lengths, lengths)


def _spelled(texts: Sequence[str]) -> Spelled:
    """Texts by the stretches between their spaces."""
    lines = [text.split(" ") for text in texts]
    numbers = {stretch: number for number, stretch in enumerate(dict.fromkeys(chain.from_iterable(lines)))}
    flat = np.fromiter(map(numbers.__getitem__, chain.from_iterable(lines)), np.int32).tobytes()
    ends = np.cumsum([4 * len(line) for line in lines]).tolist()
    return Spelled([*numbers], [flat[start:end] for start, end in pairwise((0, *ends))])


def well_formed(text: str) -> str:
    """A text that tokenizers accept: lone surrogates become U+FFFD.

    >>> well_formed("a\\ud800b")
    'a\ufffdb'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _cuts_at_spaces(described: Mapping[str, Any]) -> bool:
    """Whether a text means to a tokenizer what the stretches between its spaces mean, one after another."""
    steps = described["pre_tokenizer"] or {}
    normalizer = described["normalizer"]
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
