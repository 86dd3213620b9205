"""Our own small English masked language model, shipped with the package: offline, on a CPU, without torch.

The model is read by onnxruntime from ``anchorscope/embedded_model`` and answers masked positions only, with whole words
only. It knows no capitals: words are looked up in lower case, and a fill takes the capitals of the word it replaces.

    inputs     pieces, attention (windows, length); masked, which counts through them row by row; n
    outputs    words, probabilities (masked, n), the likeliest first

A text's answer is the same to the last bit in any batch and with any number of threads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.errors import InputError, ModelFileError
from anchorscope.perturbators.windows import Batch, Layout, batches_of_windows, gather, windows
from anchorscope.perturbators.wordpieces import WordPieces
from anchorscope.types import Proposals, Words

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

BATCH_SIZE = 16
PADDING_STEP = 4
"""Windows in a batch, and what their lengths are multiples of: 25 to 30% less CPU time than 64 and 16, measured."""

ENGLISH_SHARE = 0.55
"""Documents are English enough where ``share_in_vocabulary`` is at least this.

Measured: reviews 0.95, tweets 0.80 to 0.86 (any 20 of them at least 0.67); Italian 0.42, Portuguese 0.38,
Spanish and French 0.37, Dutch 0.33, German 0.28, Polish 0.21; other scripts 0.
"""


class EmbeddedPerturbator:
    """The shipped model; ``folder`` points to another one of the same make.

    ``threads`` batches are answered at a time (None: OMP_NUM_THREADS, or else as many as there are cores);
    ``batch_size`` counts windows.
    """

    name = "embedded"
    cased = False
    knows_originals = True

    def __init__(
        self, *, top_n: int = 50, threads: int | None = None, batch_size: int = BATCH_SIZE, folder: Path | None = None
    ) -> None:
        if top_n < 1:
            raise InputError(f"top_n is {top_n}, but the embedded perturbator needs at least 1 proposal.")
        self.top_n = top_n
        self.threads = threads
        self.batch_size = batch_size
        self.folder = folder
        self._model, vocabulary, config = map(self._read, ("model.onnx", "vocab.txt", "config.json"))
        self.vocabulary: Sequence[str] = tuple(vocabulary.decode().removesuffix("\n").split("\n"))
        self.fingerprint = sha256(b"\0".join((self._model, vocabulary, config, b"%d" % top_n))).hexdigest()
        numbers = {piece: number for number, piece in enumerate(self.vocabulary)}
        pad, self._unknown, begin, end, mask = (numbers[piece] for piece in SPECIAL)
        self._layout = Layout(pad, begin, end, mask, json.loads(config)["max_pieces"], PADDING_STEP)
        self._pieces = WordPieces(numbers)
        n_whole_words = sum(not piece.startswith("##") for piece in self.vocabulary) - len(SPECIAL)
        self._n = min(top_n, n_whole_words)

    @classmethod
    def named(cls, argument: str, *, top_n: int, device: str) -> EmbeddedPerturbator:
        """The perturbator as the command line names it: nothing stands behind its name."""
        if argument:
            raise InputError(f"The perturbator {cls.name!r} takes nothing after a colon, but {argument!r} was given.")
        return cls(top_n=top_n)

    def __reduce__(self) -> tuple[partial[EmbeddedPerturbator], tuple[()]]:
        """A session cannot travel to another process: the parameters do, and it is opened again there."""
        names = ("top_n", "threads", "batch_size", "folder")
        return partial(type(self), **{name: getattr(self, name) for name in names}), ()

    def fit(self, texts: Sequence[Words]) -> EmbeddedPerturbator:
        """There is nothing to learn."""
        return self

    def propose(self, texts: Sequence[Words], masks: Sequence[NDArray[np.bool_]]) -> Proposals:
        """The likeliest words for every True of every mask, all masks of a text being hidden at once."""
        needed = windows((text.words for text in texts), masks, self._pieces, self._layout)
        n_rows = sum(int(mask.sum()) for mask in masks)
        packed = list(batches_of_windows(needed, self._layout, self.batch_size))
        return gather(zip(packed, self._answers(packed)), n_rows, self._n)

    def share_in_vocabulary(self, texts: Sequence[Words]) -> float:
        """The share of the words with letters that the model knows as whole words: how English the texts are."""
        lettered = [word for text in texts for word in text.words if any(map(str.isalpha, word))]
        return sum(self._knows(word) for word in lettered) / max(1, len(lettered))

    def _knows(self, word: str) -> bool:
        pieces = self._pieces[word]
        return len(pieces) == 1 and pieces[0] != self._unknown

    def _answers(self, packed: Sequence[Batch]) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """Batch beside batch: threads that shared the work within a batch would spend a tenth of it on waiting."""
        n_threads = self.threads or _threads_of_openmp() or os.cpu_count() or 1
        answer = partial(self._answer, self._session)
        if min(n_threads, len(packed)) < 2:
            return list(map(answer, packed))
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(answer, packed))

    def _answer(self, session: Any, batch: Batch) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        words, probabilities = session.run(
            ["words", "probabilities"],
            {
                "pieces": batch.pieces,
                "attention": batch.attention,
                "masked": batch.masked,
                "n": np.array([self._n], np.int64),
            },
        )
        return words, probabilities / probabilities.sum(axis=1, keepdims=True)

    @cached_property
    def _session(self) -> Any:
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # as fast, measured, and memory is given back after the longest batch
        return InferenceSession(self._model, options, providers=["CPUExecutionProvider"])

    def _read(self, name: str) -> bytes:
        folder = self.folder or files("anchorscope").joinpath("embedded_model")
        try:
            return folder.joinpath(name).read_bytes()
        except OSError as error:
            raise ModelFileError(
                f"The embedded model has no {name} in {folder}; install anchorscope again, or use perturbator corpus."
            ) from error


def _threads_of_openmp() -> int:
    """The first number in OMP_NUM_THREADS, which may be a list (4,2: one for each level); 0 where there is none."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0
