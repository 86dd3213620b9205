"""Hugging Face text classifiers: a folder on this machine, a ``pipeline``, or a model with its tokenizer.

    model.save_pretrained("bert"); tokenizer.save_pretrained("bert")
    HuggingFacePredictor.from_folder("bert").predict(["a fine film"])       # array([[0.02, 0.98]])

Texts are sorted by length, so that a batch holds little padding, and cut at the longest input that the model takes;
the softmax of the logits is taken in double precision. Padding reaches the last digits: one text can differ in the
sixth digit between two batches. On a GPU the model computes in bfloat16, which reaches the third digit, unless another
type is asked for; the next batch is made while the card works on this one. ``compiled`` puts it through torch.compile,
once for texts of all lengths. A model whose answer depends on the padding beside a text (``padding.py``) is asked about
texts of equal length together, which have none.

A folder is read without a network and without running code of its own: configuration, tokenizer and safetensors.
Weights in pytorch_model.bin are pickles, and are refused. So is what transformers would make up with no more than a
log message: a classification head or a vocabulary that the folder does not hold.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answered, brief
from anchorscope.asking.devices import answering, checked_device, checked_dtype, computed_in, is_card, to_device
from anchorscope.asking.model_folder import load
from anchorscope.asking.optional import needed
from anchorscope.errors import LONGEST_LISTED, InputError, ModelFileError, clipped
from anchorscope.predictors.embedded_texts import embedded_texts
from anchorscope.predictors.encoding import Batch, Direct, Reach, Usual, batches, encoder, unpadded_batches, well_formed
from anchorscope.predictors.fingerprints import of_folder, of_transformer
from anchorscope.predictors.heads import chosen_head
from anchorscope.predictors.labels import chosen_labels
from anchorscope.predictors.options import ModelOptions
from anchorscope.predictors.padding import LONG, SHORT, depends_on_padding, sees_padding
from anchorscope.text.pairs import is_pair, sides
from anchorscope.types import Differentiable, Spelled

BATCH_SIZE = 32
"""Texts in a batch: about where a CPU is fastest."""

BATCH_OVERHEAD = 32
"""Pieces that a CPU could have read in the time that a batch takes beside its pieces: 45 at 4 layers of 256, fewer
where layers are wider."""

CARD_BATCH_SIZE = 1024
"""The same for a GPU."""


MULTI_LABEL = "multi_label_classification"
"""What the configuration of a model says whose labels are each a question of its own: sigmoids, no softmax."""

AHEAD = 2
"""Batches that are made ready while a card works."""


def from_folder(folder: str, options: ModelOptions) -> HuggingFacePredictor:
    """A Hugging Face folder on this machine, as the command line names it."""
    return HuggingFacePredictor.from_folder(
        Path(folder).expanduser(),
        labels=options.labels,
        device=options.device,
        dtype=options.dtype,
        compiled=options.compiled,
        head=options.head,
    )


class HuggingFacePredictor:
    """A sequence classification ``model`` and its ``tokenizer``; ``labels`` rename those of its configuration.

    With a ``folder`` it is pickled as the folder's path, and a worker process reads the weights from there.
    """

    has_probabilities = True
    is_fully_fingerprinted = True

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        labels: Sequence[str] | None = None,
        *,
        name: str | None = None,
        folder: Path | None = None,
        device: str = "cpu",
        dtype: str | None = None,
        compiled: bool = False,
        batch_size: int | None = None,
        head: str | None = None,
    ) -> None:
        self.name = name or type(model).__name__
        names = chosen_labels(_own_labels(model.config, self.name), labels, self.name)
        self._is_multi_label = is_multi_label(model.config)
        self._head = chosen_head(names, head, self.name) if head is not None or self._is_multi_label else None
        self.labels = self._head.labels if self._head else names
        self.device = checked_device(device)
        self.dtype = checked_dtype(dtype, device)
        self.compiled = compiled
        self.folder = folder
        self.fingerprint = self._fingerprint_of(of_folder(folder) if folder else of_transformer(model, tokenizer))
        wanted = batch_size or (CARD_BATCH_SIZE if is_card(device) else BATCH_SIZE)
        self.batch_size = _batch_size(tokenizer, wanted)
        self._sees_padding: bool | None = None  # until the model was asked
        self._make_ready(model, tokenizer)

    @classmethod
    def from_folder(
        cls,
        folder: str | Path,
        *,
        labels: Sequence[str] | None = None,
        device: str = "cpu",
        dtype: str | None = None,
        compiled: bool = False,
        batch_size: int | None = None,
        head: str | None = None,
    ) -> HuggingFacePredictor:
        """The classifier that ``save_pretrained`` wrote into ``folder``, with the tokenizer beside it."""
        path = Path(folder).resolve()
        model, tokenizer = _read(path)
        return cls(
            *(model, tokenizer, labels),
            name=path.name,
            folder=path,
            device=device,
            dtype=dtype,
            compiled=compiled,
            batch_size=batch_size,
            head=head,
        )

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels)."""
        return answered(lambda texts: self.begin(texts)(), texts, self.labels)

    def begin(self, texts: Sequence[str]) -> Callable[[], NDArray[np.float64]]:
        """Begin to answer; what comes back is called for the probabilities (texts, labels), and waits for them."""
        torch = _package("torch")
        numbers = []
        logits = []
        with answering(self.device):  # a card is given all batches, and is not waited for
            for batch, inputs in self._batches(texts):
                numbers.append(batch)
                logits.append(self._logits(inputs))
            joined = torch.cat(logits).double()
            copied = _copy(joined.sigmoid() if self._is_multi_label else joined.softmax(dim=-1))

        def answer() -> NDArray[np.float64]:
            found = copied() if self._head is None else self._head.rows(copied(), texts)
            rows = np.empty((len(texts), len(self.labels)))
            rows[np.concatenate(numbers)] = found
            return rows

        return answer

    def visible(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Where what the model reads of each text begins and ends, in characters, (texts, 2)."""
        return self._reach(texts)

    def differentiable(self, texts: Sequence[str], passes: int) -> Differentiable:
        """What gradients of the probabilities by the pieces of some texts are taken of."""
        pads = not self._sees_padding
        return embedded_texts(self.model, self._reach.tokenizer, self._reach.truncation, texts, self.device, pads=pads)

    def _batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """The inputs of all texts; for a card, the next ones are cut while it works."""
        overhead = None if is_card(self.device) else BATCH_OVERHEAD
        made = (
            unpadded_batches(self.encode, texts, self.batch_size)
            if self._sees_padding
            else batches(self.encode, texts, self.batch_size, overhead)
        )
        if not is_card(self.device) or isinstance(texts, Spelled):
            yield from made
            return
        with ThreadPoolExecutor(1) as beside:
            waiting = deque(beside.submit(next, made, None) for _ in range(AHEAD))
            while batch := waiting.popleft().result():
                waiting.append(beside.submit(next, made, None))
                yield batch

    def _logits(self, inputs: Mapping[str, Any]) -> Any:
        on_device = {name: tensor.to(self.device, non_blocking=True) for name, tensor in inputs.items()}
        return self._forward(**on_device).logits

    def _make_ready(self, model: Any, tokenizer: Any) -> None:
        """The model on its device, what makes its inputs from texts, and how far it reads them."""
        truncation = _truncation(model, tokenizer)
        accepted = inspect.signature(model.forward).parameters
        self.encode = encoder(tokenizer, truncation, pinned=is_card(self.device), accepted=accepted)
        if self._sees_padding is None:  # and before it is cast to a shorter type, in which nothing can be told apart
            self._sees_padding = self.batch_size > 1 and _sees_padding(model.eval(), self.encode, self.name)
        self.model = to_device(model, self.device, self.dtype)
        self._reach = Reach(tokenizer, truncation)
        self._compile()

    def _compile(self) -> None:
        """What the model is asked through: itself or, once that has answered, its compiled form."""
        self._forward = self.model
        if not self.compiled:
            return
        self._forward = _package("torch").compile(self.model, dynamic=True)
        try:
            # A compiler that fails does so now, and not in a run.
            with answering(self.device):
                for _, inputs in self._batches(["one text", "and one that is longer"]):
                    self._logits(inputs)
        except Exception as error:
            raise InputError(f"torch cannot compile {self.name} here ({brief(error)}); leave out --compile.") from error

    def _fingerprint_of(self, weights: str) -> str:
        return computed_in(weights, self.dtype, compiled=self.compiled)

    def __getstate__(self) -> dict[str, Any]:
        left_in_folder = {"model": None, "encode": None, "_reach": None} if self.folder else {}
        return {**self.__dict__, "_forward": None, **left_in_folder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.folder is None:
            self._compile()
            return
        if self._fingerprint_of(of_folder(self.folder)) != self.fingerprint:
            raise ModelFileError(f"The folder {str(self.folder)!r} has changed since the run began; begin a new run.")
        self._make_ready(*_read(self.folder))


class PipelinePredictor:
    """A ``pipeline("text-classification")``, asked for all its scores; its own settings stay as they are."""

    has_probabilities = True

    def __init__(
        self,
        pipeline: Any,
        labels: Sequence[str] | None = None,
        *,
        name: str | None = None,
        fingerprint: str | None = None,
        head: str | None = None,
    ) -> None:
        self.name = name or type(pipeline.model).__name__
        if pipeline.task != "text-classification":
            raise InputError(f"{self.name} is a pipeline for {pipeline.task}; expected one for text-classification.")
        self.pipeline = pipeline
        self.settings = {**_truncation(pipeline.model, pipeline.tokenizer), **pipeline._preprocess_params}
        self._reach = Reach(pipeline.tokenizer, self.settings)
        self.columns = _own_labels(pipeline.model.config, self.name)
        names = chosen_labels(self.columns, labels, self.name)
        several = is_multi_label(pipeline.model.config)
        self._head = chosen_head(names, head, self.name) if head is not None or several else None
        self.labels = self._head.labels if self._head else names
        self.fingerprint = fingerprint or of_transformer(pipeline.model, pipeline.tokenizer)
        self._batch_size = _batch_size(pipeline.tokenizer, BATCH_SIZE)
        if self._batch_size > 1 and not self._takes_batches():
            self._batch_size = 1

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels)."""
        return answered(self._rows, texts, self.labels)

    def visible(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Where what the model reads of each text begins and ends, in characters, (texts, 2)."""
        return self._reach(texts)

    def _rows(self, texts: list[str]) -> Any:
        rows = self._scores(texts, self._batch_size)
        return rows if self._head is None else self._head.rows(rows, texts)

    def _scores(self, texts: Sequence[str], batch_size: int) -> list[list[float]]:
        answers = self.pipeline(
            [_for_pipeline(well_formed(text)) for text in texts], top_k=None, batch_size=batch_size, **self.settings
        )
        named = [{score["label"]: score["score"] for score in answer} for answer in answers]
        return [[row[label] for label in self.columns] for row in named]

    def _takes_batches(self) -> bool:
        """Whether it answers about a text the same beside a longer one as alone; one that fails says so when used."""
        try:
            *padded, _ = self._scores([*SHORT, LONG], self._batch_size)
            alone = [self._scores([text], 1)[0] for text in SHORT]
        except Exception:
            return False
        return not depends_on_padding(alone, padded, _rounding(self.pipeline.model))


def _for_pipeline(text: str) -> Any:
    return dict(zip(("text", "text_pair"), sides(text))) if is_pair(text) else text


def _copy(tensor: Any) -> Callable[[], NDArray[np.float64]]:
    """Begin to copy a tensor to this side; what comes back waits for it, and for nothing that the card does later."""
    copy = tensor.to("cpu", non_blocking=True)
    done = _package("torch").cuda.current_stream(tensor.device).record_event() if tensor.is_cuda else None

    def copied() -> NDArray[np.float64]:
        if done is not None:
            done.synchronize()
        rows: NDArray[np.float64] = copy.numpy()
        return rows

    return copied


def _read(folder: Path) -> tuple[Any, Any]:
    """Model and tokenizer, once it is clear that the folder holds both whole."""
    model, tokenizer, missing = load(folder, "AutoModelForSequenceClassification", "Hugging Face sequence classifier")
    if missing:
        raise ModelFileError(
            f"The folder {str(folder)!r} holds no trained sequence classifier: it lacks "
            f"{', '.join(missing)}; fine-tune the model for classification first."
        )
    return model.float(), tokenizer


def _package(name: str) -> Any:
    return needed(name, "huggingface", "Hugging Face models")


def is_multi_label(config: Any) -> bool:
    """Whether a configuration says that a text has any number of its labels."""
    return getattr(config, "problem_type", None) == MULTI_LABEL


def _own_labels(config: Any, name: str) -> tuple[str, ...]:
    if config.problem_type not in (None, "single_label_classification", MULTI_LABEL):
        kind = clipped(str(config.problem_type).replace("_", " "), LONGEST_LISTED)
        raise InputError(f"{name} is a model for {kind}; expected one that gives texts labels.")
    return tuple(str(label) for _, label in sorted(config.id2label.items()))


def _truncation(model: Any, tokenizer: Any) -> dict[str, Any]:
    """The tokenizer's arguments that cut a text at the longest input of the model, if it has a longest.

    RoBERTa and its kin count positions from ``padding_idx + 1``, so they hold fewer tokens than they have positions,
    and their tokenizers do not always know a limit (they then say 10^30).
    """
    positions = [
        module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
        for name, module in model.named_modules()
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings")
    ]
    declared = getattr(model.config, "max_position_embeddings", None) or 0
    # Some say -1 (XLNet): they read texts of any length.
    limits = [tokenizer.model_max_length, *positions, *([declared] if declared > 0 else [])]
    limit = min(limits) if isinstance(limits[0], int | float) else 0
    least = tokenizer.num_special_tokens_to_add() + 1
    if not limit >= least:
        raise InputError(
            f"The longest input of {type(model).__name__} has {limit} tokens, and the shortest one with a word has "
            f"{least}; set model_max_length (in tokenizer_config.json) to what the model reads."
        )
    return {"truncation": True, "max_length": int(limit)} if limit < 10**9 else {}


def _sees_padding(model: Any, encode: Usual | Direct, name: str) -> bool:
    """Whether the model, where it lies, answers about a text otherwise beside a longer one than alone."""
    device = next(model.parameters()).device

    def logits(texts: Sequence[str]) -> Any:
        with _package("torch").inference_mode():
            inputs = {key: tensor.to(device) for key, tensor in encode(texts).items()}
            return model(**inputs).logits.float().cpu().numpy()

    try:
        return sees_padding(logits, _rounding(model))
    except Exception as error:
        raise InputError(
            f"{name} fails on a text of five words ({brief(error)}); where it reads texts of some lengths only, "
            "name a function that fills them up (module:function)."
        ) from error


def _rounding(model: Any) -> float:
    """The smallest step of the numbers in which a model computes."""
    return float(_package("torch").finfo(next(model.parameters()).dtype).eps)


def _batch_size(tokenizer: Any, wanted: int) -> int:
    """Without a padding token, texts of different lengths cannot share a batch."""
    return wanted if tokenizer.pad_token_id is not None else 1
