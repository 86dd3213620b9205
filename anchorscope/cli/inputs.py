"""What the options of a command stand for: settings, a model, a perturbator; for the commands that run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from anchorscope import predictors, registry
from anchorscope.asking.budget import Budget
from anchorscope.asking.kept_answers import LIMIT, KeptAnswers, kept_for
from anchorscope.asking.retry import TRIES, Retry, RetryingPredictor
from anchorscope.backends.named import named_blocks
from anchorscope.cli.watch import say
from anchorscope.errors import InputError, UnknownNameError
from anchorscope.files import refuse_foreign
from anchorscope.perturbators.choose import choose_perturbator, named_perturbator, reads_device
from anchorscope.planning.draw import draw
from anchorscope.predictors import load_predictor
from anchorscope.predictors.labels import joined_names, share_of, split_names
from anchorscope.predictors.remote.options import NAMES as REMOTE
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.report.page import REPORT, is_report
from anchorscope.run import Run, heard_before, refuse_existing
from anchorscope.settings import NO_PERTURBATOR, Settings, needs_perturbator, preset, score_counts_anchors, strategy
from anchorscope.text.read import Documents, read_files
from anchorscope.text.words import LazyWords
from anchorscope.types import Perturbator, Predictor, counts_anchors

READING = ("text_column", "encoding", "clean", "format")
"""The options that say how files are read; a run folder remembers them."""

LIMITS = ("max_unpacked",)


def given_settings(given: Mapping[str, Any]) -> Settings:
    """The preset's settings, with those given by hand."""

    by_hand = chosen(given, [field.name for field in fields(Settings)])
    if "label" in given:
        by_hand["labels"] = tuple(given["label"])
    settings = preset(given.get("preset", "fast"), **by_hand)
    _refuse_unread(by_hand, settings)
    if "training" in given and not score_counts_anchors(str(settings.score)):
        raise InputError(
            "--training is for the aggregation av5, which counts anchors: add --preset paper, or leave it out."
        )
    return settings


OF_PERTURBED_TEXTS = (
    *("test", "tau", "delta", "epsilon", "look", "max_samples", "keep", "fill", "bank_pairs", "bank_draw", "top_n"),
    *("condition", "robust", "lift", "weight"),
)
"""The settings that nothing reads where no words are replaced."""


def _refuse_unread(by_hand: Mapping[str, Any], settings: Settings) -> None:
    """Nobody is to wonder why an option changes nothing."""
    score = registry.resolve("score", str(settings.score))
    for name in OF_PERTURBED_TEXTS if not score.perturbs else ():
        counts_samples = name == "max_samples" and score.shares_calls
        if name in by_hand and not counts_samples:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} belongs to perturbed texts: add --score anchor or banzhaf, or leave it out.")
    if "alpha" in by_hand and not counts_anchors(score):
        raise InputError("--alpha belongs to counts of anchors: add --preset paper, or leave it out.")
    if "omega" in by_hand and not settings.tau_tilde:
        raise InputError("--omega says how far --tau-tilde goes: add that, or leave it out.")
    if "regret" in by_hand and "regret" not in strategy(settings.strategy).reads:
        raise InputError("--regret says when a race ends: leave it out, or use --strategy race.")


def given_documents(given: Mapping[str, Any], settings: Settings) -> Documents:
    """The documents of the command line, or those drawn from them; says how they were read where that was guessed."""
    if "draw" in given:
        return _drawn_documents(given, settings)
    documents = read_files(given.get("documents", []), **chosen(given, (*READING, *LIMITS, "label_column")))
    for remark in documents.remarks:
        say(given, remark)
    return documents


def _drawn_documents(given: Mapping[str, Any], settings: Settings) -> Documents:
    for option in ("label_column", "format", "encoding"):
        if option in given:
            raise InputError(f"--draw reads the texts of Parquet files alone: leave out --{option.replace('_', '-')}.")
    paths = given.get("documents", [])
    backend = given.get("backend", "local")
    limits = chosen(given, LIMITS)
    with named_blocks(backend, paths, given.get("text_column"), given.get("workers"), **limits) as blocks:
        return draw(blocks, given["draw"], settings, **chosen(given, ("clean",)))


def given_training(given: Mapping[str, Any]) -> list[str] | None:
    """The texts of --training, if it was given."""

    if "training" not in given:
        return None
    return [document.text for document in read_files(given["training"], **chosen(given, (*READING, *LIMITS))).documents]


def given_predictor(given: Mapping[str, Any], texts: Sequence[str] = ()) -> Predictor:
    """The model of --model, tried again where it fails; ``texts`` show the names of labels, if it answers names."""
    if "model" not in given:
        raise InputError("Name the model to explain: --model M.")
    labels = split_names(given["names"]) if "names" in given else None
    options = chosen(given, ("trust", "allow_pickle", "device", "dtype", "compiled", "text_column", "head"))
    if _perturbs_on_device(given) and not predictors.reads_device(given["model"]):
        options.pop("device", None)  # it is the perturbator's
    options["learn_from"] = share_of(texts, given.get("max_model_calls"))
    options |= chosen(given, ("max_seconds",))
    options["heard"] = heard_before(given.get("out"), "resume" in given, of_head="head" in given)
    if remote := given_remote(given):
        retry = Retry(given.get("model_tries", TRIES))
        predictor = load_predictor(given["model"], labels=labels, remote=remote, retry=retry, **options)
        return RetryingPredictor(predictor, retry, kept=given_cache(given, predictor))
    retry = given_retry(given)
    predictor = load_predictor(given["model"], labels=labels, retry=retry, **options)
    return RetryingPredictor(predictor, retry, **chosen(given, ("batch_size",)), kept=given_cache(given, predictor))


def refuse_idle_device(given: Mapping[str, Any]) -> None:
    """Refuse a device on which nothing of what is given computes."""
    if "device" not in given or "model" not in given:
        return
    if not predictors.reads_device(given["model"]) and not _perturbs_on_device(given):
        raise InputError(
            f"--device is for Hugging Face folders and the perturbator masked-lm, and {given['model']!r} is no such "
            "folder; leave it out."
        )


def _perturbs_on_device(given: Mapping[str, Any]) -> bool:
    perturbator = given.get("perturbator", NO_PERTURBATOR)
    return perturbator != NO_PERTURBATOR and reads_device(perturbator)


def reads_tables(predictor: Predictor) -> bool:
    """Whether a model was fitted on a table, so that its texts are a column there."""
    return getattr(getattr(predictor, "predictor", predictor), "text_column", None) is not None


def learnt_names(predictor: Predictor) -> bool:
    """Whether the labels of a model are names that it was heard to answer."""
    return bool(getattr(getattr(predictor, "predictor", None), "has_learnt_names", False))


def given_cache(given: Mapping[str, Any], predictor: Predictor) -> KeptAnswers | None:
    """Where the model's answers are kept from run to run, if they are."""
    return kept_for(predictor, given.get("cache"), given.get("cache_size", LIMIT))


def given_remote(given: Mapping[str, Any]) -> RemoteOptions | None:
    """How a model behind HTTP is asked, if that is what --model names."""
    options = chosen(given, REMOTE)
    if re.match(r"https?://", given["model"]):
        if "model_timeout" in given:
            options["timeout"] = given["model_timeout"]
        return RemoteOptions(**options, **chosen(given, ("batch_size",)))
    if options:
        raise InputError(f"--{next(iter(options)).replace('_', '-')} belongs to a model behind HTTP: leave it out.")
    return None


def given_retry(given: Mapping[str, Any]) -> Retry:
    """How often and how long the model is tried."""
    return Retry(given.get("model_tries", TRIES), timeout=given.get("model_timeout"))


def given_perturbator(given: Mapping[str, Any], texts: Sequence[str], settings: Settings) -> Perturbator | None:
    """The perturbator of --perturbator, or the one that suits the documents; says so where that is not the default.

    None where the local score replaces no words.
    """
    if not needs_perturbator(settings, given.get("perturbator")):
        return None
    if "perturbator" in given:
        return named_perturbator(given["perturbator"], top_n=settings.top_n, **chosen(given, ("device",)))
    perturbator, remark = choose_perturbator(LazyWords(texts), top_n=settings.top_n)
    if remark:
        say(given, remark)
    return perturbator


def kept_perturbator(given: Mapping[str, Any], kept: str, settings: Settings) -> Perturbator:
    """The perturbator of --perturbator, or the one that a run folder names.

    A folder may come from anybody: it names one that is known here, and no files to read.
    """
    if "perturbator" not in given and kept not in registry.names("perturbator"):
        raise UnknownNameError("perturbator", kept, registry.names("perturbator"))
    return named_perturbator(given.get("perturbator", kept), top_n=settings.top_n, **chosen(given, ("device",)))


def check_folder(folder: Path | None, resume: bool) -> None:
    """Refuse a folder for a run that exists, is busy, or holds other people's files under the names of ours."""
    refuse_existing(folder, resume)
    if folder is not None:
        refuse_foreign(folder / REPORT, is_report)


def given_run(
    given: Mapping[str, Any],
    documents: Documents,
    models: tuple[Predictor, Perturbator | None],
    settings: Settings,
    *,
    training: Sequence[str] | None,
    folder: Path | None,
    budget: Budget,
) -> Run:
    """The run that the options ask for."""

    sources: dict[str, Any] = {"documents": given["documents"], **chosen(given, ("model", "names", "head", *READING))}
    if learnt_names(models[0]):  # whoever reads the run again need not learn them again
        sources["names"] = joined_names(models[0].labels)
    return Run(
        documents,
        *models,
        settings,
        folder=folder,
        resume="resume" in given,
        **chosen(given, ("backend", "workers", "price_per_1000")),
        budget=budget,
        training_texts=training,
        sources=sources,
        keep_texts="no_texts" not in given,
    )


def chosen(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Those of the named options that were given."""
    return {name: given[name] for name in names if name in given}
