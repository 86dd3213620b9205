"""A classifier in an ONNX file, with its tokenizer beside it.

    model.onnx           inputs input_ids, attention_mask, token_type_ids or some of them; its first output is
                         (texts, labels)
    tokenizer.json       how texts become its inputs, as Hugging Face's ``tokenizers`` read it
    config.json          its labels (id2label) and its longest input, if it is there; --labels else

All three are regular files, and make the fingerprint. Weights in further files are not followed (``onnx_weights.py``).

Rows that are no probabilities (logits) go through a softmax; which of the two it is shows with the first answer.

A model that was quantised dynamically scales its numbers by the largest in the batch, so the answer about a text
depends on those beside it: by some hundredths. Such a file is found by its operators, and asked about one text at a
time, so that an answer is the same in every batch; it is slower for it. A model whose answer depends on the padding
beside a text (``padding.py``) is asked about texts of equal length together.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import TOLERANCE, answered, brief, shortened
from anchorscope.asking.optional import needed
from anchorscope.asking.tokenizer_file import check_growth
from anchorscope.errors import LONGEST_LISTED, ModelError, ModelFileError, RunFolderError, clipped, listed
from anchorscope.files import read_regular
from anchorscope.predictors.encoding import well_formed
from anchorscope.predictors.heads import chosen_head
from anchorscope.predictors.labels import chosen_labels
from anchorscope.predictors.onnx_functions import check_functions
from anchorscope.predictors.onnx_inputs import INPUTS, Shape, inputs_of
from anchorscope.predictors.onnx_weights import names_other_files
from anchorscope.predictors.options import ModelOptions
from anchorscope.predictors.padding import of_equal_length, of_like_length, sees_padding
from anchorscope.text.pairs import as_read, is_pair

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]

BATCH = 32
BATCH_OVERHEAD = 32
"""Texts in a batch at most, and the pieces that could be read in the time that a batch takes beside its own."""

LONGEST = 512
"""Tokens at which a text is cut, where no file says where."""

LARGEST = 2 << 30
"""Bytes that a file may have: protobuf, in which models are written, has no longer ones."""

MOST_POSITIONS = 10**9
"""Tokens beyond which a longest input is none."""

TOKENIZER = "tokenizer.json"
CONFIG = "config.json"

SILENT = 4
"""The severity of log messages from which on onnxruntime writes them to the screen: fatal ones, after which it ends."""

DYNAMIC = b"DynamicQuantizeLinear"

NUMBER = re.compile("[0-9]{1,9}")
"""How config.json numbers a label."""

MULTI_LABEL = "multi_label_classification"
"""What config.json says of a model whose labels are each a question of its own."""

FLOAT_STEPS = {"tensor(float16)": 2.0**-10, "tensor(float)": 2.0**-23, "tensor(double)": 2.0**-52}
"""The smallest step of the numbers of an output, by what onnxruntime calls its type."""


def from_onnx(path: str, options: ModelOptions) -> OnnxPredictor:
    """An .onnx file, as the command line names it."""
    return OnnxPredictor(Path(path).expanduser().resolve(), options.labels, options.head)


class OnnxPredictor:
    """The classifier in ``file``; ``labels`` rename those of its configuration."""

    has_probabilities = True
    is_fully_fingerprinted = True

    def __init__(self, file: Path, labels: Sequence[str] | None = None, head: str | None = None) -> None:
        self._file = file
        self._digests: dict[str, str] = {}
        model = self._read(file.name)
        self._read(TOKENIZER)
        self._refuse_other_files(model)
        self._refuse_copies(model)
        config = self._config()
        self.name = file.parent.name + "/" + file.name
        self._names = chosen_labels(_own_labels(config, self.name), labels, self.name)
        self._is_multi_label = config.get("problem_type") == MULTI_LABEL
        self._head = chosen_head(self._names, head, self.name) if head is not None or self._is_multi_label else None
        self.labels = self._head.labels if self._head else self._names
        self.fingerprint = sha256("\n".join(self._digests.values()).encode()).hexdigest()
        self._shape = Shape.of(next((put.shape for put in self._session.get_inputs()), ()))
        self._longest = min(_longest(config, self.name), self._shape.n_pieces or LARGEST)
        self._batch = self._shape.n_texts or BATCH
        self._are_probabilities: bool | None = None
        if DYNAMIC in model:
            self._batch = 1
            log.warning(
                "%s is quantised dynamically, so its answers depend on the batch: it is asked about text by text.",
                self.name,
            )
        _ = self._tokenizer  # what cannot be read is found here
        self._sees_padding = self._batch > 1 and self._finds_padding()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_session", "_tokenizer")}

    def predict(self, texts: Sequence[str]) -> Floats:
        """Probabilities (texts, labels)."""
        return answered(self._rows, texts, self.labels)

    def _rows(self, texts: list[str]) -> Floats:
        encoded = self._encoded(texts)
        lengths = np.array([len(one.ids) for one in encoded])
        rows = np.empty((len(texts), len(self._names)))
        together = (
            of_equal_length(lengths, self._batch)
            if self._sees_padding
            else of_like_length(lengths, self._batch, BATCH_OVERHEAD)
        )
        for some in together:
            rows[some] = self._answered([encoded[number] for number in some])
        found = self._as_sigmoids(rows) if self._is_multi_label else self._as_probabilities(rows)
        return found if self._head is None else self._head.rows(found, texts)

    def visible(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Where what the model reads of each text begins and ends, in characters, (texts, 2)."""
        found = np.array([(0, len(text)) for text in texts], np.int64).reshape(-1, 2)
        for number, one in enumerate(self._encoded(texts)):
            if one.overflowing and not is_pair(texts[number]):  # of a pair both sides are cut, which leaves no stretch
                found[number, 1] = max((end for _, end in one.offsets), default=0)
        return found

    def _encoded(self, texts: Sequence[str]) -> list[Any]:
        encoded: list[Any] = self._tokenizer.encode_batch(as_read([well_formed(text) for text in texts]))
        return encoded

    def _answered(self, encoded: Sequence[Any]) -> Floats:
        """The first output for some texts, (texts, labels)."""
        inputs = inputs_of(encoded, [put.name for put in self._session.get_inputs()], self._shape)
        found = np.asarray(self._session.run(None, inputs)[0], np.float64)
        expected = (self._shape.n_texts or len(encoded), len(self._names))
        if found.shape != expected:
            raise ModelError(
                f"{self.name} answered an array of shape {found.shape} for {expected[0]} texts; "
                f"expected {expected} for the labels {listed(self._names)}."
            )
        return found[: len(encoded)]

    def _finds_padding(self) -> bool:
        """Whether the model answers about a text otherwise beside a longer one than alone."""
        rounding = FLOAT_STEPS[self._session.get_outputs()[0].type]
        try:
            return sees_padding(lambda texts: self._answered(self._encoded(texts)), rounding)
        except ModelError:
            raise
        except Exception as error:
            raise ModelFileError(
                f"{self.name} fails on a text of five words ({brief(error)}); wrap it in a function from texts to "
                "probabilities and name that: module:function."
            ) from error

    def _as_sigmoids(self, rows: Floats) -> Floats:
        """Each number by itself; those of an output that is not called logits are probabilities, if they can be."""
        are_logits = "logit" in self._session.get_outputs()[0].name.lower()
        if not are_logits and bool(((rows >= 0) & (rows <= 1)).all()):
            return rows
        return np.asarray(1 / (1 + np.exp(-rows)))

    def _as_probabilities(self, rows: Floats) -> Floats:
        if self._are_probabilities is None and len(rows):
            self._are_probabilities = bool((rows >= 0).all() and (abs(rows.sum(axis=1) - 1) <= TOLERANCE).all())
        if self._are_probabilities:
            return rows
        raised = np.exp(rows - rows.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    @cached_property
    def _session(self) -> Any:
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.log_severity_level = SILENT  # its messages quote the file as it is; what it raises says the same
        options.add_session_config_entry("session.load_model_format", "ONNX")  # no other form has been looked at
        try:
            session = InferenceSession(self._read(self._file.name), options, providers=["CPUExecutionProvider"])
        except ModelFileError:
            raise
        except Exception as error:
            raise self._unreadable(error) from error
        unknown = [put.name for put in session.get_inputs() if put.name not in INPUTS]
        if unknown:
            raise ModelFileError(
                f"{self._file.name!r} wants the input {unknown[0]!r}, and tokenizers give {', '.join(INPUTS)}; wrap it "
                "in a function from texts to probabilities and name that: module:function."
            )
        kind = next((put.type for put in session.get_outputs()), "nothing")
        if kind not in FLOAT_STEPS:
            raise ModelFileError(
                f"{self._file.name!r} has {kind} as its first output; expected a row of logits or probabilities a "
                "text: export it so that they come first."
            )
        return session

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizers = needed("tokenizers", "onnx", "ONNX models")
        try:
            written = self._read(TOKENIZER)
            check_growth(written)
            tokenizer = tokenizers.Tokenizer.from_str(written.decode("utf-8"))
        except (ModelFileError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a panic of Rust is no Exception
            raise ModelFileError(f"{TOKENIZER} beside {self._file.name!r} cannot be read ({brief(error)}).") from error
        n_special = tokenizer.num_special_tokens_to_add(False)
        if self._longest <= n_special:
            raise ModelFileError(
                f"{self.name} reads {self._longest} tokens, and {TOKENIZER} puts {n_special} around each text, so that "
                f"no word is read; set max_position_embeddings in {CONFIG} to what the model reads."
            )
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._longest)
        return tokenizer

    def _refuse_other_files(self, model: bytes) -> None:
        try:
            elsewhere = names_other_files(model)
        except ValueError as error:
            raise self._unreadable(error) from error
        if elsewhere:
            raise ModelFileError(
                f"{self._file.name!r} keeps its weights in another file, which is not followed; save it whole, in one "
                "file."
            )

    def _refuse_copies(self, model: bytes) -> None:
        try:
            check_functions(model)
        except ValueError as error:
            raise ModelFileError(
                f"{self._file.name!r} would take onnxruntime too long to load ({error}); export it without functions "
                "(onnx.inliner writes them out)."
            ) from error

    def _unreadable(self, error: Exception) -> ModelFileError:
        return ModelFileError(f"{self._file.name!r} cannot be read as an ONNX file ({brief(error)}); is it whole?")

    def _config(self) -> dict[str, Any]:
        """What config.json says; nothing where there is none."""
        if not os.path.lexists(self._file.parent / CONFIG):
            return {}
        try:
            found = json.loads(self._read(CONFIG))
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"{CONFIG} beside {self._file.name!r} is no JSON ({brief(error)}).") from error
        if not isinstance(found, dict):
            raise ModelFileError(f"{CONFIG} beside {self._file.name!r} holds no options; expected a JSON object.")
        return found

    def _read(self, name: str) -> bytes:
        """The bytes of a file, which are the same each time."""
        try:
            data = read_regular(self._file.parent / name, at_most=LARGEST)
        except OSError as error:
            if name == TOKENIZER:
                raise ModelFileError(
                    f"There is no {TOKENIZER} beside {self._file.name!r}, and an ONNX file does not say how texts "
                    "become its inputs; put it there (tokenizer.save_pretrained(folder) writes it)."
                ) from error
            raise ModelFileError(f"The model file {name!r} cannot be read: {error.strerror}.") from error
        except RunFolderError as error:
            raise ModelFileError(
                f"The model file {name!r} is no regular file (it is a link, a pipe or the like), or has more than "
                f"{LARGEST >> 30} GB; put a copy of the file itself there."
            ) from error
        digest = sha256(data).hexdigest()
        if self._digests.setdefault(name, digest) != digest:
            raise ModelFileError(f"The model file {name!r} has changed since the run began; begin a new run.")
        return data


def _own_labels(config: dict[str, Any], name: str) -> tuple[str, ...] | None:
    kind = config.get("problem_type")
    if kind not in (None, "single_label_classification", MULTI_LABEL):
        told = clipped(str(kind).replace("_", " "), LONGEST_LISTED)
        raise ModelFileError(f"{name} is a model for {told}; expected one that gives texts labels.")
    named = config.get("id2label")
    if not isinstance(named, dict) or not all(NUMBER.fullmatch(number) for number in named):
        return None
    return tuple(str(label) for _, label in sorted(named.items(), key=lambda item: int(item[0])))


def _longest(config: dict[str, Any], name: str) -> int:
    """Tokens that the model holds; RoBERTa and its kin count positions from the padding token on.

    Some say -1 (XLNet): they read texts of any length.
    """
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int) or positions < 1:
        return LONGEST
    if positions > MOST_POSITIONS:
        raise ModelFileError(
            f"{CONFIG} of {name} sets max_position_embeddings to {shortened(str(positions))}; expected the number of "
            f"tokens that the model reads, {MOST_POSITIONS:,} at most."
        )
    kin_of_roberta = any(part in str(config.get("model_type", "")) for part in ("roberta", "camembert", "mpnet"))
    return max(1, positions - (2 if kin_of_roberta else 0))
