"""The library's front door: a model in, its top words out.

explainer = Explainer(model, top_k=20, random_state=0)
for snapshot in explainer.stream(texts):      # anytime
    ...
result = explainer.explain(texts)             # result["positive"].terms, result.to_pandas()
explainer.effects("one great film")           # what each word of one document does

A text may be a pair, a tuple of two strings: the words of either side are then terms of their own, marked ① and ②.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from anchorscope import registry
from anchorscope.asking.budget import Budget
from anchorscope.asking.kept_answers import kept_for
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.errors import AnchorscopeError, DocumentsError, InputError, in_a_line
from anchorscope.local import LocalExplanation, explain_document, tested_positions
from anchorscope.perturbators.choose import choose_perturbator
from anchorscope.predictors import as_predictor
from anchorscope.predictors.labels import given_names, share_of
from anchorscope.result import Result
from anchorscope.run import Run, heard_before
from anchorscope.settings import (
    NO_PERTURBATOR,
    Settings,
    check_score,
    needs_perturbator,
    preset,
    preset_for_one_document,
    score_is_graded,
)
from anchorscope.text.read import Documents, listed_texts, read_texts
from anchorscope.text.rule import PLAIN
from anchorscope.text.segmenters import needed_segmenters
from anchorscope.text.words import LazyWords, split
from anchorscope.types import HeardLabels, Perturbator, Predictor, Snapshot, Words


class Explainer:
    """Explains one model. What it was given is stored as it is, and looked at when documents are explained, before the
    model is asked; what it computes is in the results.

    ``model``        anything with ``predict_proba``, a Hugging Face pipeline, a function, or a Predictor
    ``labels``       the names of a function's columns, in their order, where its rows do not name them
    ``head``         the one label of a multi-label model to ask about: whether a text has it
    ``text_column``  where a model that was fitted on a table finds its texts
    ``batch_size``   texts a call of the model, at most; None is as many as there are
    ``only``         the labels to explain; all of them if None
    ``perturbator``  a Perturbator, or None for the one that suits the documents; "none" where no word is replaced
    ``settings``     further settings by name, such as ``{"delta": 0.2}``; they go before the preset's
    ``backend``      where the work is done, by name: "local", "ray", "ray:HOST:PORT"; ``workers`` processes share it
    ``cache``        whether answers are kept from run to run: None keeps those of models in files and behind HTTP
    ``retry``        how often and how long a model that fails is tried again
    ``keep_texts``   False keeps the texts of the documents, perturbed or not, out of the run folder
    """

    def __init__(
        self,
        model: Any,
        *,
        top_k: int = 20,
        random_state: int = 0,
        labels: Sequence[str] | None = None,
        head: str | None = None,
        text_column: str | None = None,
        batch_size: int | None = None,
        only: Sequence[str] | None = None,
        perturbator: Perturbator | Literal["none"] | None = None,
        preset: str = "fast",
        settings: Mapping[str, Any] | None = None,
        backend: str = "local",
        workers: int | None = None,
        max_seconds: float | None = None,
        max_model_calls: int | None = None,
        cache: bool | None = None,
        retry: Retry | None = None,
        keep_texts: bool = True,
    ) -> None:
        self.model = model
        self.top_k = top_k
        self.random_state = random_state
        self.labels = labels
        self.head = head
        self.text_column = text_column
        self.batch_size = batch_size
        self.only = only
        self.perturbator = perturbator
        self.preset = preset
        self.settings = settings
        self.backend = backend
        self.workers = workers
        self.max_seconds = max_seconds
        self.max_model_calls = max_model_calls
        self.cache = cache
        self.retry = retry
        self.keep_texts = keep_texts

    def explain(
        self,
        texts: Iterable[str | tuple[str, str]],
        labels: Iterable[str] | None = None,
        *,
        training_texts: Iterable[str] | None = None,
        out: str | Path | None = None,
        resume: bool = False,
    ) -> Result:
        """The result; ``out`` is the run folder to keep it in, ``labels`` are the documents' true labels."""
        with _told_in_python():
            run = self._run(read_texts(texts, labels), training_texts, out, resume)
            for _ in run.snapshots():
                pass
            return run.result()

    def stream(
        self,
        texts: Iterable[str | tuple[str, str]],
        labels: Iterable[str] | None = None,
        *,
        training_texts: Iterable[str] | None = None,
        out: str | Path | None = None,
        resume: bool = False,
    ) -> Iterator[Snapshot]:
        """What is known, after every round; the last snapshot is ``finished``."""
        with _told_in_python():
            yield from self._run(read_texts(texts, labels), training_texts, out, resume).snapshots()

    def effects(self, text: str | tuple[str, str]) -> LocalExplanation:
        """What each word of one document does there for the label that the model says."""
        with _told_in_python():
            settings = preset(self.preset, **self._by_hand())
            if not score_is_graded(str(settings.score)):
                raise InputError(f"The preset {self.preset!r} tests anchors: ask for anchors(), or use another preset.")
            return self._explain_document(text, settings)

    def anchors(self, text: str | tuple[str, str]) -> LocalExplanation:
        """The anchors of one document: every word is tested, stop words and rare words too."""
        with _told_in_python():
            return self._explain_document(text, preset_for_one_document(self.preset, **self._by_hand()))

    def _explain_document(self, text: str | tuple[str, str], settings: Settings) -> LocalExplanation:
        text = listed_texts([text], "text")[0] if isinstance(text, tuple) else text
        if not isinstance(text, str):
            raise InputError(f"text must be a string, not {in_a_line(text)} (a {type(text).__name__}).")
        kinds = str(settings.terms)
        if kinds != PLAIN:
            needed_segmenters([text])
        if not tested_positions(text, kinds=kinds):
            raise DocumentsError("The document has no word to test; give a text with words.")
        predictor = self._predictor([text])
        check_score(settings, predictor)
        words = split(text)
        perturbator = self._perturbator([words], settings)
        if perturbator is not None and not len(perturbator.vocabulary):
            perturbator = perturbator.fit([words])  # it has seen no texts yet, so it learns from this one
        score = registry.resolve("score", str(settings.score))(predictor, perturbator, settings)
        return explain_document(text, predictor, score, settings.tau, kinds)

    def _predictor(self, texts: Sequence[str], heard: HeardLabels | None = None) -> Predictor:
        if not isinstance(self.retry, Retry | None):
            raise InputError(f"retry must be a Retry, not {in_a_line(self.retry)}.")
        predictor = as_predictor(
            self.model,
            labels=self.labels,
            head=self.head,
            text_column=self.text_column,
            learn_from=share_of(texts, self.max_model_calls),
            retry=self.retry,
            max_seconds=Budget.of(self.max_seconds, self.max_model_calls).max_seconds,
            heard=heard,
        )
        if isinstance(predictor, RetryingPredictor) and self.retry is None and self.batch_size is None:
            return predictor
        kept = kept_for(predictor, self.cache)
        return RetryingPredictor(predictor, self.retry or Retry(), batch_size=self.batch_size, kept=kept)

    def _by_hand(self) -> dict[str, Any]:
        """The settings that go before the preset's."""
        further = {} if self.settings is None else self.settings
        if not isinstance(further, Mapping) or not all(isinstance(name, str) for name in further):
            raise InputError(f"settings must map names to values, such as {{'delta': 0.2}}, not {in_a_line(further)}.")
        for setting, argument in (("top_k", "top_k"), ("seed", "random_state"), ("labels", "only")):
            if setting in further:
                raise InputError(f"Give {setting!r} to the Explainer itself, as {argument}, not among its settings.")
        given: dict[str, Any] = {"top_k": self.top_k, "seed": self.random_state, **further}
        if self.only is not None:
            given["labels"] = given_names(self.only, "only")
        return given

    def _perturbator(self, texts: Sequence[Words], settings: Settings) -> Perturbator | None:
        """What replaces words, where the local score has them replaced."""
        named = self.perturbator
        if not isinstance(named, Perturbator | None) and named != NO_PERTURBATOR:
            raise InputError(f"perturbator must be a Perturbator, such as CorpusPerturbator(), not {in_a_line(named)}.")
        if not needs_perturbator(settings, named):
            return None
        if isinstance(named, Perturbator):
            return named
        perturbator, remark = choose_perturbator(texts, top_n=settings.top_n)
        if remark:
            warnings.warn(remark, stacklevel=4)
        return perturbator

    def _run(
        self, documents: Documents, training_texts: Iterable[str] | None, out: str | Path | None, resume: bool
    ) -> Run:
        settings = preset(self.preset, **self._by_hand())
        texts = [document.text for document in documents.documents]
        folder = None if out is None else Path(out)
        return Run(
            documents,
            self._predictor(texts, heard_before(folder, resume, of_head=self.head is not None)),
            self._perturbator(LazyWords(texts), settings),
            settings,
            folder=folder,
            resume=resume,
            backend=self.backend,
            workers=self.workers,
            budget=Budget.of(self.max_seconds, self.max_model_calls),
            training_texts=None if training_texts is None else listed_texts(training_texts, "training_texts"),
            keep_texts=self.keep_texts,
        )


OWN_NAMES = {"seed": "random_state", "resume": "resume=True"}
"""What an option of the command line is called here, where that is another name."""

ARGUMENTS = (
    *("max-seconds", "max-model-calls", "batch-size", "workers", "backend", "perturbator", "preset", "head", "out"),
    *(field.name.replace("_", "-") for field in fields(Settings) if field.name != "labels"),
    *OWN_NAMES,
)
"""The options that are arguments or settings here; --labels and --text-column are named beside theirs already."""

_OPTION = re.compile(rf"(?<![\w-])--({'|'.join(sorted(ARGUMENTS, key=len, reverse=True))})(?![\w-])")


@contextmanager
def _told_in_python() -> Iterator[None]:
    """Errors speak of arguments and settings: most are written for the command line, which calls them options."""
    try:
        yield
    except AnchorscopeError as error:
        error.args = tuple(_in_python(part) if isinstance(part, str) else part for part in error.args)
        raise


def _in_python(sentence: str) -> str:
    """
    >>> _in_python("--top-k must be a whole number; go on with --resume.")
    'top_k must be a whole number; go on with resume=True.'
    """
    return _OPTION.sub(lambda found: OWN_NAMES.get(found[1], found[1].replace("-", "_")), sentence)
