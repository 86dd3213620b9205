"""What is sent to a server and what comes back, for each kind of server that is known by name.

    name          a request                                          an answer about n texts
    openai        chat completions (chat.py), one text               the label word, with log-probabilities or as votes
    huggingface   {"inputs": TEXT, "parameters": {"top_k": 100}}     [[{"label": "good", "score": 0.9}, …]]
    kserve        {"inputs": [{"name": "text", "shape": [n, 1],      {"outputs": [{"shape": [n, labels],
                   "datatype": "BYTES", "data": [TEXT, …]}]}           "data": [0.1, 0.9, …]}]}
    torchserve    TEXT itself                                        {"good": 0.9, "bad": 0.1}
    mlflow        {"inputs": [TEXT, …]}                              {"predictions": [[0.1, 0.9], …]}
    (none)        --request, with a hole for the texts               rows at the path --answer

A row is what a function may answer: probabilities in the order of the labels, probabilities by label, or a label name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from anchorscope.errors import InputError, UnknownNameError
from anchorscope.predictors.remote.chat import Chat
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.predictors.remote.template import FIRST, at_path, filled, read_template, steps, takes_many
from anchorscope.text.pairs import is_pair, sides

MANY = 16
"""Texts a request, where the form takes several and nobody says how many."""


class WrongCountError(ValueError):
    """Rows are where they should be, and are not one a text."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        super().__init__(f"{n_rows} rows")


class Form(Protocol):
    """One way of asking: ``at_once`` texts a request, whose body is JSON, or text where it is a string.

    ``expected`` says what an answer looks like, for errors. ``rows`` raises a LookupError, TypeError or ValueError
    where an answer does not. Of a pair of texts it sends both sides, if it ``reads_pairs``.
    """

    at_once: int
    expected: str
    reads_pairs: bool

    def body(self, texts: Sequence[str]) -> Any:
        """What is sent."""
        ...

    def rows(self, answer: Any, texts: Sequence[str]) -> list[Any]:
        """A row a text."""
        ...


class HuggingFace:
    """The Hugging Face inference API, task text-classification: one text a request."""

    reads = ()
    reads_pairs = True
    at_once = 1
    expected = '[[{"label": "good", "score": 0.9}, …]]'

    def __init__(self, options: RemoteOptions, labels: Sequence[str] | None) -> None:
        pass

    def body(self, texts: Sequence[str]) -> Any:
        """All labels with their scores are asked for, not the best alone."""
        inputs = dict(zip(("text", "text_pair"), sides(texts[0]))) if is_pair(texts[0]) else texts[0]
        return {"inputs": inputs, "parameters": {"top_k": 100}}

    def rows(self, answer: Any, texts: Sequence[str]) -> list[Any]:
        """One list of scored labels, which may lie in a list of its own."""
        inner = answer[0] if isinstance(answer, list) and answer and isinstance(answer[0], list) else answer
        return [[{"label": str(part["label"]), "score": float(part["score"])} for part in inner]]


class KServe:
    """The open inference protocol (v2), as KServe, Triton and MLServer speak it."""

    reads = ("api_input",)
    reads_pairs = False
    expected = '{"outputs": [{"shape": [texts, labels], "data": […]}]}'

    def __init__(self, options: RemoteOptions, labels: Sequence[str] | None) -> None:
        self.at_once = options.batch_size or MANY
        self._input = options.api_input or "text"

    def body(self, texts: Sequence[str]) -> Any:
        """One input of strings."""
        column = {"name": self._input, "shape": [len(texts), 1], "datatype": "BYTES", "data": list(texts)}
        return {"inputs": [column]}

    def rows(self, answer: Any, texts: Sequence[str]) -> list[Any]:
        """The first output with a row a text; strings are label names."""
        for output in answer["outputs"]:
            values = np.array(output["data"], object if output["datatype"] == "BYTES" else float)
            if values.size == len(texts) and values.dtype == object:
                return [str(name) for name in values.ravel()]
            if values.size and values.size % len(texts) == 0 and values.size > len(texts):
                return list(values.reshape(len(texts), -1).tolist())
        raise ValueError("no output with a row a text")


class TorchServe:
    """TorchServe's inference API, as its handler for text classification reads and answers: one text a request."""

    reads = ()
    reads_pairs = False
    at_once = 1
    expected = '{"good": 0.9, "bad": 0.1}'

    def __init__(self, options: RemoteOptions, labels: Sequence[str] | None) -> None:
        pass

    def body(self, texts: Sequence[str]) -> Any:
        """The text itself."""
        return texts[0]

    def rows(self, answer: Any, texts: Sequence[str]) -> list[Any]:
        """A probability by label, or in the order of the labels."""
        if not isinstance(answer, dict | list):
            raise TypeError("neither labels nor numbers")
        return [answer]


class MLflow:
    """The scoring server of MLflow: predictions of a model that takes texts."""

    reads = ()
    reads_pairs = False
    expected = '{"predictions": [[0.1, 0.9], …]}'

    def __init__(self, options: RemoteOptions, labels: Sequence[str] | None) -> None:
        self.at_once = options.batch_size or MANY

    def body(self, texts: Sequence[str]) -> Any:
        """A list of texts."""
        return {"inputs": list(texts)}

    def rows(self, answer: Any, texts: Sequence[str]) -> list[Any]:
        """Whatever the model predicts: rows, rows by label, or label names."""
        return _one_a_text(answer["predictions"], texts)


class OwnForm:
    """A request and a path that the caller gives."""

    reads = ("request", "answer")

    def __init__(self, options: RemoteOptions, labels: Sequence[str] | None) -> None:
        if options.request is None or options.answer is None:
            raise InputError(
                "A model behind HTTP needs --api (one of "
                f'{", ".join(FORMS)}), or --request and --answer; for example --request \'{{"inputs": "{{texts}}"}}\' '
                "--answer 'predictions[*].scores'."
            )
        self._template = read_template(options.request)
        self._path = options.answer
        steps(self._path)
        self._many = takes_many(self._template)
        self.reads_pairs = FIRST in options.request
        self.at_once = (options.batch_size or MANY) if self._many else 1
        self.expected = f"rows at {self._path}"

    def body(self, texts: Sequence[str]) -> Any:
        """The template with the texts in it."""
        return filled(self._template, texts)

    def rows(self, answer: Any, texts: Sequence[str]) -> list[Any]:
        """What lies at the path: a row a text, or the row of the one text."""
        found = at_path(answer, self._path)
        return _one_a_text(found, texts) if self._many else [found]


@dataclass(frozen=True, slots=True)
class NamedForm:
    """A form by name: what makes it, and its line of help."""

    make: Any
    help: str


FORMS = MappingProxyType(
    {
        "openai": NamedForm(Chat, "chat completions, as OpenAI, vLLM, Ollama and others speak them"),
        "huggingface": NamedForm(HuggingFace, "the Hugging Face inference API"),
        "kserve": NamedForm(KServe, "the open inference protocol v2: KServe, Triton, MLServer"),
        "torchserve": NamedForm(TorchServe, "TorchServe"),
        "mlflow": NamedForm(MLflow, "the scoring server of MLflow"),
    }
)
"""The forms by name."""


def make_form(options: RemoteOptions, labels: Sequence[str] | None) -> Form:
    """The form that the options ask for; an option that it has no use for is refused."""
    if options.api is not None and options.api not in FORMS:
        raise UnknownNameError("--api", options.api, FORMS)
    kind: Any = OwnForm if options.api is None else FORMS[options.api].make
    options.refuse_unread(kind.reads, options.api or "of your own (--request)")
    form: Form = kind(options, labels)
    if options.batch_size is not None and options.batch_size > 1 and form.at_once == 1:
        raise InputError("This form takes one text a request; leave out --batch-size.")
    return form


def _one_a_text(rows: Any, texts: Sequence[str]) -> list[Any]:
    if not isinstance(rows, list):
        raise TypeError("not a row a text")
    if len(rows) != len(texts):
        raise WrongCountError(len(rows))
    return rows
