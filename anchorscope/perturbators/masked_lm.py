"""Any masked language model in a Hugging Face folder, on torch: BERT, DistilBERT, RoBERTa, DeBERTa, XLM-R, their kin.

A masked word becomes one mask token, so only words of one piece can be proposed. How a piece shows that it is a whole
word depends on the tokenizer:

    WordPiece       BERT              film   ##ing     every piece without ##
    byte-level BPE  RoBERTa           Ġfilm    ing     pieces that begin with a space, written Ġ; and punctuation
    SentencePiece   XLM-R, ALBERT     ▁film    ing     the same, the space written ▁

The other words are cut one by one (and remembered), byte-level BPE with the space before them where the text has one,
SentencePiece always with it. In scripts without spaces only WordPiece models have whole words to offer.

The vocabulary is scored at masked positions only, and of the scores only the n best leave the device, or only the words
that are drawn from them. A text's answer is nearly the same in any batch: the last bits may differ, as torch sums in an
order that depends on the batch. On a GPU the model computes in bfloat16, and the next batch is laid out while the card
works on this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.devices import answering, checked_device, checked_dtype, computed_in, is_card, to_device
from anchorscope.asking.model_folder import load, weights_in
from anchorscope.errors import InputError, ModelFileError
from anchorscope.perturbators.windows import Batch, Layout, batches_of_windows, gather, windows
from anchorscope.text.words import split, term
from anchorscope.types import Proposals, Words

UNDECODABLE = "\ufffd"
"""What a byte-level piece shows that is a part of a character."""

BATCH_SIZE = 64
CARD_BATCH_SIZE = 1024
"""Windows in a batch, on a CPU and on a GPU."""

LONGEST_WINDOW = 512
"""Longer texts are read by windows even where the model could read more: attention costs the square."""


class MaskedLMPerturbator:
    """The masked language model in ``folder``; ``batch_size`` counts windows, fewer where they are long."""

    name = "masked-lm"
    knows_originals = True

    def __init__(
        self, folder: str | Path, *, top_n: int = 50, batch_size: int | None = None, device: str = "cpu"
    ) -> None:
        if top_n < 1:
            raise InputError(f"top_n is {top_n}, but the masked-lm perturbator needs at least 1 proposal.")
        self.folder = Path(folder)
        self.top_n = top_n
        self.device = checked_device(device)
        self.batch_size = batch_size or (CARD_BATCH_SIZE if is_card(device) else BATCH_SIZE)
        tokenizer, model = _load(self.folder)
        dtype = checked_dtype(None, device)
        self._model = to_device(model, device, dtype)
        self._pieces = _Pieces(tokenizer)
        self._layout = Layout(*_special(tokenizer), min(LONGEST_WINDOW, _n_positions(model)))
        words = _whole_words(tokenizer)
        if not words:
            raise ModelFileError(
                f"The tokenizer in {self.folder} has no piece that is a whole word; use another model."
            )
        self.vocabulary: Sequence[str] = tuple(words.values())
        self.cased = any(word != word.lower() for word in self.vocabulary)
        self.fingerprint = computed_in(_hash(weights_in(self.folder), self.vocabulary, top_n), dtype)
        self._n = min(top_n, len(words))
        self._number = np.zeros(model.config.vocab_size, np.int32)
        self._number[list(words)] = np.arange(len(words))
        self._closed = _closed(model, words)

    @classmethod
    def named(cls, argument: str, *, top_n: int, device: str) -> MaskedLMPerturbator:
        """The perturbator as the command line names it, with its folder."""
        if not argument:
            raise InputError("Name the folder of the masked language model: --perturbator masked-lm:FOLDER.")
        return cls(argument, top_n=top_n, device=device)

    def __reduce__(self) -> tuple[partial[MaskedLMPerturbator], tuple[()]]:
        """The folder travels to another process, not the weights."""
        names = ("folder", "top_n", "batch_size", "device")
        return partial(type(self), **{name: getattr(self, name) for name in names}), ()

    def fit(self, texts: Sequence[Words]) -> MaskedLMPerturbator:
        """There is nothing to learn."""
        return self

    def propose(self, texts: Sequence[Words], masks: Sequence[NDArray[np.bool_]]) -> Proposals:
        """The likeliest words for every True of every mask, all masks of a text being hidden at once."""
        n_rows = sum(int(mask.sum()) for mask in masks)
        launched = [(batch, self._launch(batch)) for batch in self._batches(texts, masks)]
        return gather(((batch, self._fetch(*best)) for batch, best in launched), n_rows, self._n)

    def draw(
        self,
        texts: Sequence[Words],
        masks: Sequence[NDArray[np.bool_]],
        rows: NDArray[np.intp],
        chances: NDArray[np.float64],
    ) -> NDArray[np.int32]:
        """The words at which the cumulated probabilities of the asked rows of ``propose`` pass the chances."""
        import torch

        laid_out = [(batch, *self._launch(batch)) for batch in self._batches(texts, masks)]
        # Where each row of ``propose`` stands in the order of the batches. Inversion is done on the device, so that one
        # number a row comes back and not a distribution.
        place = np.empty(sum(len(batch.rows) for batch, _, _ in laid_out), np.int64)
        place[np.concatenate([batch.rows for batch, _, _ in laid_out])] = np.arange(len(place))
        asked, chance = (torch.from_numpy(array).to(self.device) for array in (place[rows], chances))
        cumulated = torch.cat([likely for _, likely, _ in laid_out]).double().cumsum(dim=1)[asked]
        passed = (cumulated <= (chance * cumulated[:, -1])[:, None]).sum(dim=1)
        return self._number[torch.cat([found for _, _, found in laid_out])[asked, passed].cpu().numpy()]

    def _batches(self, texts: Sequence[Words], masks: Sequence[NDArray[np.bool_]]) -> Iterator[Batch]:
        needed = windows(map(self._pieces.keys_of, texts), masks, self._pieces, self._layout)
        return batches_of_windows(needed, self._layout, self.batch_size)

    def _launch(self, batch: Batch) -> tuple[Any, Any]:
        """The best scores and pieces, on the device, which a card may still be working on."""
        import torch

        pieces, attention, masked = (
            torch.from_numpy(array).to(self.device) for array in (batch.pieces, batch.attention, batch.masked)
        )
        with answering(self.device), _head_at(self._model, masked):
            scores = self._model(input_ids=pieces, attention_mask=attention).logits[0]
            best, found = (scores.float() + self._closed).topk(self._n)
            return best.softmax(-1), found

    def _fetch(self, probabilities: Any, found: Any) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        return self._number[found.cpu().numpy()], probabilities.cpu().numpy()


class _Pieces(dict[str, list[int]]):
    """The pieces of every word met so far; a byte-level word is looked up with the space before it."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._with_space = _space_mark(tokenizer.get_vocab()) == "Ġ"

    def __missing__(self, key: str) -> list[int]:
        pieces: list[int] = self._tokenizer.encode(key, add_special_tokens=False)
        self[key] = pieces
        return pieces

    def keys_of(self, text: Words) -> Sequence[str]:
        """The words of a text as they are looked up; the first one is taken as if the text went on from another."""
        if not self._with_space:
            return text.words
        gaps = (" ", *text.gaps[1:])
        return [" " + word if gap else word for gap, word in zip(gaps, text.words, strict=False)]


def _load(folder: Path) -> tuple[Any, Any]:
    """Tokenizer and model."""
    model, tokenizer, missing = load(folder, "AutoModelForMaskedLM", "masked language model")
    if missing or None in _special(tokenizer):
        raise ModelFileError(
            f"{folder} holds no masked language model (that has a trained head, and pieces for mask, begin, end and "
            "padding); give the folder of a model that was trained to fill masks, such as DistilBERT."
        )
    return tokenizer, model


@contextmanager
def _head_at(model: Any, masked: Any) -> Iterator[None]:
    """Let the vocabulary head see the masked positions only, as one sequence: heads work position by position."""

    def keep_masked(encoder: Any, inputs: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state.flatten(0, 1)[masked][None]
        return output

    hook = model.base_model.register_forward_hook(keep_masked)
    try:
        yield
    finally:
        hook.remove()


def _special(tokenizer: Any) -> tuple[Any, Any, Any, Any]:
    return tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id


def _n_positions(model: Any) -> int:
    """How many pieces the model can read: RoBERTa numbers positions from behind its padding number."""
    n_positions: int = getattr(model.config, "max_position_embeddings", LONGEST_WINDOW)
    offsets = [
        module.padding_idx + 1
        for name, module in model.named_modules()
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
    ]
    return n_positions - max(offsets, default=0)


def _whole_words(tokenizer: Any) -> dict[int, str]:
    """The pieces that are whole words, by number."""
    pieces = tokenizer.get_vocab()
    mark = _space_mark(pieces)
    special = {*tokenizer.all_special_ids, *tokenizer.get_added_vocab().values()}
    in_order = sorted(pieces, key=pieces.__getitem__)
    found = {pieces[piece]: _whole_word(tokenizer, piece, mark) for piece in in_order}
    return {number: word for number, word in found.items() if word and number not in special}


def _whole_word(tokenizer: Any, piece: str, mark: str) -> str | None:
    """The word that a piece is by itself: one word of ours, set off by a space unless it is punctuation."""
    written: str = tokenizer.convert_tokens_to_string([piece]) if mark == "Ġ" else piece.replace("▁", " ")
    word = written.removeprefix(" ")
    is_set_off = not mark or (word != written) == (term(word) is not None)
    return word if is_set_off and split(word).words == (word,) and UNDECODABLE not in word else None


def _space_mark(pieces: Iterable[str]) -> str:
    """How pieces show that they begin a word: by a mark, or (WordPiece) by the lack of one.

    >>> _space_mark(["film", "##ing"]), _space_mark(["Ġfilm", "Ġa", "ing", "##"]), _space_mark(["▁film", "ing"])
    ('', 'Ġ', '▁')
    """
    counts = Counter(mark for piece in pieces for mark in ("##", "Ġ", "▁") if piece.startswith(mark))
    return max(("Ġ", "▁"), key=counts.__getitem__) if counts["Ġ"] + counts["▁"] > counts["##"] else ""


def _closed(model: Any, words: Mapping[int, str]) -> Any:
    """What to add to the scores so that nothing but whole words is found."""
    import torch

    closed = torch.full((model.config.vocab_size,), -torch.inf, device=model.device)
    closed[list(words)] = 0.0
    return closed


def _hash(weights: Sequence[Path], vocabulary: Sequence[str], top_n: int) -> str:
    digest = sha256("\0".join((str(top_n), *vocabulary)).encode())
    for path in weights:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
