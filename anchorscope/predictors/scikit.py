"""scikit-learn models, and everything else that has ``predict_proba``.

The model must read raw texts: a pipeline of a vectoriser and a classifier. One that was fitted on a table (a
``ColumnTransformer`` at its beginning) gets a table with the texts in the column that it knows. Its labels are its
``classes_``, as strings.

A model with a ``decision_function`` and no probabilities (LinearSVC, RidgeClassifier) is read through it: a softmax of
the margins, for two labels 1 / (1 + exp(-margin)). That is a number between 0 and 1 which rises with the margin, not a
probability that came true so often; a margin of 1 reads as 0.73. It is told when the model is loaded. A model with
``predict`` alone knows only labels and answers rows with a single 1. One that was fitted on a table of yes and no, a
column a label (OneVsRestClassifier, MultiOutputClassifier and others), is asked about one of its labels (``heads.py``).

>>> class Shouting:
...     classes_ = ["calm", "loud"]
...     def predict_proba(self, texts):
...         return [[0.1, 0.9] if text.isupper() else [0.8, 0.2] for text in texts]
>>> ScikitPredictor(Shouting()).predict(["GOOD"])
array([[0.1, 0.9]])

Model files: a .skops file is read without running code of its own, and each type in it that skops does not vouch for
must be trusted by name. A pickle runs whatever its author put in, so to read one is the caller's own decision.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anchorscope.asking.answers import answered, brief, one_hot, plain_numbers
from anchorscope.asking.columns import Columns
from anchorscope.asking.optional import needed
from anchorscope.errors import InputError, ModelError, ModelFileError, in_a_line
from anchorscope.predictors.fingerprints import of_object
from anchorscope.predictors.heads import chosen_head
from anchorscope.predictors.labels import chosen_labels
from anchorscope.predictors.skops_size import allowed_size, unpacked_size
from anchorscope.text.pairs import as_read, is_pair, sides

log = logging.getLogger(__name__)


class ScikitPredictor:
    """A fitted model with ``predict_proba``, or with ``predict`` and ``classes_``; ``labels`` rename its classes."""

    def __init__(
        self,
        model: Any,
        labels: Sequence[str] | None = None,
        *,
        name: str | None = None,
        fingerprint: str | None = None,
        text_column: str | None = None,
        head: str | None = None,
    ) -> None:
        self.model = model
        self.name = name or _class_name(model)
        refuse_file_readers(model, self.name)
        self.classes = _classes(model)
        if self.classes is None:
            refuse_unfitted(model, self.name)
        names = chosen_labels(self.classes, labels, self.name)
        self._names = names
        self._head = chosen_head(names, head, self.name) if head is not None or is_multi_label(model) else None
        self.labels = self._head.labels if self._head else names
        self._has_margins = _has_margins(model)
        self.has_probabilities = hasattr(model, "predict_proba") or self._has_margins
        if self._has_margins:
            log.warning(
                "%s gives no probabilities: a softmax of its margins stands for them, which is not calibrated.",
                self.name,
            )
        self.columns = Columns(names, self.classes)
        self._tables = [Columns((f"not {name}", name)) for name in names]  # where it answers one a label
        self.text_column = column_read(model, text_column, self.name)
        self.is_fully_fingerprinted = False  # a class of one's own may change; a .skops file of known types cannot
        self.fingerprint = fingerprint or of_object(model)

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (texts, labels)."""
        return answered(self._rows, texts, self.labels, self.columns)

    def _rows(self, texts: list[str]) -> Any:
        if (now := _classes(self.model)) != self.classes:
            raise ModelError(
                f"The model's classes were {', '.join(self.classes or ())} and are now {', '.join(now or ())}; "
                "start afresh with a model that does not change."
            )
        if is_multi_label(self.model):
            assert self._head is not None
            return self._head.rows(self._of_all_heads(texts), texts, self.columns)
        rows = self._of_one_label(texts)
        return rows if self._head is None else self._head.rows(rows, texts, self.columns)

    def _of_one_label(self, texts: list[str]) -> Any:
        if self._has_margins:
            return softmax_of_margins(self._numbers(self.model.decision_function, texts))
        if self.has_probabilities:
            return self._asked(self.model.predict_proba, texts)
        names = [str(name) for name in self._asked(self.model.predict, texts)]
        return one_hot(names, texts, self.classes or self.labels)

    def _of_all_heads(self, texts: list[str]) -> Any:
        """A probability a head, (texts, heads); some models answer a table a head instead, with its two classes."""
        if self._has_margins:
            margins = self._numbers(self.model.decision_function, texts)
            return 1 / (1 + np.exp(-margins))
        if not self.has_probabilities:
            return self._asked(self.model.predict, texts)
        answer = self._asked(self.model.predict_proba, texts)
        if not isinstance(answer, list):
            return answer
        for table, columns in zip(answer, self._tables, strict=False):
            columns.check(table)
        tables = [plain_numbers(table, texts, ("no", "yes")) for table in answer]
        seen = getattr(self.model, "classes_", [(False, True)] * len(tables))
        return np.stack([_of_yes(table, own) for table, own in zip(tables, seen, strict=True)], axis=1)

    def _numbers(self, ask: Callable[[Any], Any], texts: list[str]) -> NDArray[np.float64]:
        """What it answers, where something is computed of that: numbers of any shape, in columns that stay."""
        answer = self._asked(ask, texts)
        self.columns.check(answer)
        return plain_numbers(answer, texts, self._names)

    def _asked(self, ask: Callable[[Any], Any], texts: list[str]) -> Any:
        try:
            return ask(as_read(texts) if self.text_column is None else _table(self.text_column, texts))
        except Exception as error:
            if self.text_column is not None:
                raise ModelError(
                    f"{self.name} cannot read a table of the one column {self.text_column!r} ({brief(error)}); pass a "
                    "model that reads this column alone, or a function that fills in the others."
                ) from error
            # What was fitted on a table knows its number of columns; what begins with a vectoriser does not.
            if not hasattr(self.model, "n_features_in_"):
                raise
            raise ModelError(
                f"{self.name} was fitted on a table of {self.model.n_features_in_} columns and cannot read texts "
                f"({brief(error)}); fit a pipeline with a vectoriser: "
                f"make_pipeline(TfidfVectorizer(), {_class_name(self.model)}())."
            ) from error


def refuse_file_readers(model: Any, name: str) -> None:
    """Refuse a model with a vectoriser, at any depth, that takes a text for the path of a file and opens that."""
    for part in _estimators_in(model):
        read = getattr(part, "input", "content")
        if hasattr(part, "build_analyzer") and read != "content":
            raise ModelFileError(
                f"The {type(part).__name__} of {name} reads files that the texts name (input={in_a_line(read)}); "
                "expected one that reads the texts: set its input to 'content' and save the model again."
            )


def refuse_unfitted(model: Any, name: str) -> None:
    """Refuse an estimator of scikit-learn that has learnt nothing yet."""
    if not any(kind.__module__.startswith("sklearn.") for kind in type(model).__mro__):
        return
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise InputError(f"{name} is not fitted yet; call its fit(texts, labels), then pass it.") from error


def _estimators_in(model: Any) -> Iterator[Any]:
    """A model and all estimators inside it, in whatever attributes, lists and dicts they lie."""
    left = [model]
    seen: set[int] = set()
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        inside: Iterable[Any]
        if isinstance(part, dict):
            inside = part.values()
        elif isinstance(part, list | tuple):
            inside = part
        else:
            yield part
            inside = getattr(part, "__dict__", {}).values()
        left.extend(value for value in inside if isinstance(value, dict | list | tuple) or _is_estimator(value))


def _is_estimator(value: Any) -> bool:
    return hasattr(type(value), "get_params") and not isinstance(value, type)


def softmax_of_margins(margins: Any) -> NDArray[np.float64]:
    """Rows that rise with the margins (texts,) of the second of two labels, or (texts, labels) of more.

    >>> softmax_of_margins([0.0, 1.0]).round(2).tolist()
    [[0.5, 0.5], [0.27, 0.73]]
    """
    values = np.asarray(margins, np.float64)
    if values.ndim == 1:
        values = np.stack([-values / 2, values / 2], axis=1)
    raised = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _has_margins(model: Any) -> bool:
    """Whether a model has no probabilities but a margin a label."""
    one_a_label = getattr(_last_step(model), "decision_function_shape", "ovr") == "ovr"
    return hasattr(model, "decision_function") and not hasattr(model, "predict_proba") and one_a_label


def column_read(model: Any, text_column: str | None, name: str) -> str | None:
    """The column in which a model that was fitted on a table expects its texts; None where it reads texts.

    A table has names where pandas made it; one with several columns needs to be told which of them holds the texts.
    """
    names = [str(column) for column in getattr(model, "feature_names_in_", ())]
    pair = [part.strip() for part in (text_column or "").split(",")]
    if not names or text_column in names or (len(pair) == 2 and {*pair} <= {*names}):
        return text_column if names else None
    if len(names) == 1:
        return names[0]
    raise InputError(
        f"{name} was fitted on a table with the columns {', '.join(names)}; say which of them holds the texts: "
        f"text_column={names[0]!r}, or --text-column {names[0]}."
    )


def _table(column: str, texts: list[str]) -> Any:
    """The texts in their column; pairs of texts in two, which are named by a comma."""
    pandas = needed("pandas", "pandas", "a model that reads tables")
    if not any(map(is_pair, texts)):
        return pandas.DataFrame({column: texts}, dtype=object)  # its own strings take no half characters
    names = [name.strip() for name in column.split(",")]
    return pandas.DataFrame([*map(sides, texts)], columns=names, dtype=object)


def read_skops(data: bytes, name: str, trust: Sequence[str]) -> Any:
    """The object in the bytes of a .skops file, if it holds only types that skops or the caller trusts.

    The types are listed from the file's description of itself: nothing is imported or built before all are trusted, and
    nothing is unpacked that would fill the memory.
    """
    skops = needed("skops.io", "scikit", "reading .skops files")
    with _readable(name, "skops"):
        size = unpacked_size(data)
    if size > allowed_size(len(data)):
        raise ModelFileError(
            f"{name!r} has {len(data):,} bytes and would become {size:,} when it is read; expected at most "
            f"{allowed_size(len(data)):,}; if the model is your own, save it again with skops.io.dump, unpacked."
        )
    with _readable(name, "skops"):
        untrusted = sorted({*skops.get_untrusted_types(data=data)} - {*trust})
    if untrusted:
        raise ModelFileError(
            f"{name!r} holds types that skops does not vouch for: {', '.join(untrusted)}; "
            "nothing was loaded; if you trust them, add "
            f"{' '.join(f'--trust {kind}' for kind in untrusted)} (in Python: trust={untrusted})."
        )
    with _readable(name, "skops"):
        return skops.loads(data, trusted=list(trust))


def read_pickle(data: bytes, name: str) -> Any:
    """The object in the bytes of a pickle or joblib file. This runs whatever code the file holds."""
    joblib = needed("joblib", "scikit", "reading pickled models")
    with _readable(name, "pickle"):
        return joblib.load(io.BytesIO(data))


@contextmanager
def _readable(name: str, kind: str) -> Iterator[None]:
    """Errors of a reader become a ModelFileError, and its warnings log messages, one sentence for each kind."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except Exception as error:
            raise ModelFileError(
                f"{name!r} cannot be read as a {kind} file ({brief(error)}); is it whole, and is "
                "everything installed here that it was made with?"
            ) from error
    for sentence in dict.fromkeys(_sentence(warning.message) for warning in caught):
        log.warning("%s: %s", name, sentence)


def _sentence(warning: Warning | str) -> str:
    """A warning in one line; scikit-learn's on versions comes once for each part of a pipeline, and is long."""
    made, read = (getattr(warning, f"{time}_sklearn_version", None) for time in ("original", "current"))
    if made and read:
        return f"made with scikit-learn {made} and read with {read}; its answers may differ: fit it again if you can."
    return str(warning).strip().partition("\n")[0]


def _classes(model: Any) -> tuple[str, ...] | None:
    """The model's own label names, if it has any."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    if any(np.ndim(name) for name in classes):
        if not all({*map(str, own)} <= {"0", "1", "0.0", "1.0", "False", "True"} for own in classes):
            raise InputError(
                f"{_class_name(model)} predicts several things at once, and not each is a yes or no; pass a "
                "function that answers one of them."
            )
        return tuple(str(number) for number in range(len(classes)))
    return tuple(str(name) for name in classes)


def _of_yes(table: NDArray[np.float64], seen: Sequence[Any]) -> NDArray[np.float64]:
    """The probability of yes, (texts,): a head that has seen one answer only has one column, of that answer.

    >>> _of_yes(np.array([[1.0]]), [0]).tolist(), _of_yes(np.array([[1.0]]), [1]).tolist()
    ([0.0], [1.0])
    """
    return table[:, -1] if str(seen[-1]) in ("1", "1.0", "True") else 1 - table[:, -1]


def is_multi_label(model: Any) -> bool:
    """Whether a model gives each text any number of its labels: it was fitted on a table of yes and no."""
    last = _last_step(model)
    several = any(np.ndim(name) for name in getattr(model, "classes_", ()))
    binarizer = getattr(last, "_label_binarizer", None)  # of networks
    return several or bool(getattr(last, "multilabel_", False)) or "multilabel" in getattr(binarizer, "y_type_", "")


def _class_name(model: Any) -> str:
    """The class of the model; of a pipeline, the class of its last step."""
    return type(_last_step(model)).__name__


def _last_step(model: Any) -> Any:
    """The last step of a pipeline; any other model itself."""
    steps = getattr(model, "steps", None)
    return steps[-1][1] if steps else model
