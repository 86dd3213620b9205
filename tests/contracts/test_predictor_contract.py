"""What every Predictor promises, asked of each implementation.

To hold a predictor of your own to it, add a function that builds one to ``PREDICTORS``. A builder gets an empty
folder and answers for the labels ``bad`` and ``good``; called twice, it builds the same model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_onnx import tiny_onnx

from anchorscope.asking.kept_answers import KeptAnswers
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.predictors import as_predictor, load_predictor
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.testing import checks
from anchorscope.testing.server import StandInServer
from anchorscope.types import Predictor

TEXTS = ["a great film", "a bad film", "great great great", "bad", "not great at all", "a film", "film"]
TARGETS = ["good", "bad", "good", "bad", "bad", "good", "good"]
ODD_TEXTS = [
    "",
    " ",
    "?!",
    "word " * 2000,
    "nul \0 here",
    "lone \ud800 surrogate",
    "👩‍👩‍👧 e\u0301",
    "שלום",
    "<b>great</b>",
]
LABELS = ("bad", "good")


def share_of_great(texts: list[str]) -> list[list[float]]:
    shares = [text.split().count("great") / max(len(text.split()), 1) for text in texts]
    return [[1 - share, share] for share in shares]


def function(folder: Path) -> Predictor:
    return as_predictor(share_of_great, labels=LABELS)


def label_function(folder: Path) -> Predictor:
    return as_predictor(lambda texts: ["good" if "great" in text else "bad" for text in texts], labels=LABELS)


def scikit_pipeline(classifier: Any = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), classifier or LogisticRegression()).fit(TEXTS, TARGETS)


def scikit(folder: Path) -> Predictor:
    return as_predictor(scikit_pipeline())


def scikit_margins(folder: Path) -> Predictor:
    from sklearn.svm import LinearSVC

    return as_predictor(scikit_pipeline(LinearSVC(random_state=0)))


def dict_function(folder: Path) -> Predictor:
    return as_predictor(rows_by_label)


def rows_by_label(texts: list[str]) -> list[dict[str, float]]:
    return [dict(zip(LABELS, row)) for row in share_of_great(texts)]


def onnx_file(folder: Path) -> Predictor:
    return load_predictor(str(tiny_onnx(folder, {"great": 2.0, "bad": -2.0, "not": -1.0}, LABELS)))


def skops_file(folder: Path) -> Predictor:
    import skops.io

    path = folder / "model.skops"
    if not path.exists():  # skops writes other bytes each time, and a file is its bytes
        skops.io.dump(scikit_pipeline(), path)
    return load_predictor(str(path))


def tiny_bert() -> tuple[Any, Any]:
    import torch
    import transformers

    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "great", "bad", "film", "not"]
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=16, initializer_range=1.0, id2label=dict(enumerate(LABELS)),
    )  # fmt: skip
    tokenizer = transformers.BertTokenizer(vocab={word: number for number, word in enumerate(words)})
    return transformers.BertForSequenceClassification(config).eval(), tokenizer


def huggingface_folder(folder: Path) -> Predictor:
    for part in tiny_bert():
        part.save_pretrained(folder / "bert")
    return load_predictor(str(folder / "bert"))


def huggingface_pipeline(folder: Path) -> Predictor:
    import transformers

    model, tokenizer = tiny_bert()
    return as_predictor(transformers.pipeline("text-classification", model=model, tokenizer=tokenizer))


def behind_http(folder: Path) -> Predictor:
    """One server for all tests: it answers the same whenever it is asked."""
    remote = RemoteOptions(api="mlflow", concurrency=4)
    return load_predictor(_server().url, labels=LABELS, remote=remote)


@cache
def _server() -> StandInServer:
    return StandInServer(as_predictor(share_of_great, labels=LABELS), "mlflow").__enter__()


def kept_answers(folder: Path) -> Predictor:
    """What is asked again is found, and is the same."""
    predictor = as_predictor(share_of_great, labels=LABELS)
    kept = KeptAnswers(folder, predictor.fingerprint, LABELS, always=True)
    return RetryingPredictor(predictor, Retry(), batch_size=3, kept=kept)


def learnt_names(folder: Path) -> Predictor:
    return as_predictor(name_of, learn_from=["a great film", "a bad film"])


def name_of(texts: list[str]) -> list[str]:
    return ["good" if "great" in text else "bad" for text in texts]


def table_model(folder: Path) -> Predictor:
    import pandas
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    columns = ColumnTransformer([("words", TfidfVectorizer(), "review")])
    return as_predictor(make_pipeline(columns, LogisticRegression()).fit(pandas.DataFrame({"review": TEXTS}), TARGETS))


PREDICTORS: list[Callable[[Path], Predictor]] = [
    learnt_names,
    table_model,
    function,
    label_function,
    scikit,
    scikit_margins,
    dict_function,
    onnx_file,
    behind_http,
    kept_answers,
    skops_file,
    huggingface_folder,
    huggingface_pipeline,
]


@pytest.fixture(params=PREDICTORS, ids=lambda build: build.__name__)
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Predictor]:
    return lambda: request.param(tmp_path)


@pytest.fixture
def predictor(build: Callable[[], Predictor]) -> Predictor:
    return build()


@pytest.mark.parametrize("check", checks("predictor"), ids=lambda check: check.__name__)
def test_it_passes_the_public_suite(check: Callable[[Any], None], build: Callable[[], Predictor]) -> None:
    check(build)


def test_it_introduces_itself(predictor: Predictor) -> None:
    assert isinstance(predictor, Predictor)
    assert predictor.name and "\n" not in predictor.name
    assert predictor.labels == LABELS
    assert len(predictor.fingerprint) == 64 and int(predictor.fingerprint, 16)


def test_each_row_is_a_distribution(predictor: Predictor) -> None:
    rows = predictor.predict(TEXTS)
    assert rows.shape == (len(TEXTS), len(LABELS)) and rows.dtype == np.float64
    assert (rows >= 0).all() and np.allclose(rows.sum(axis=1), 1)
    assert len(set(rows.argmax(axis=1))) == 2
    if not predictor.has_probabilities:
        assert set(rows.ravel()) == {0.0, 1.0}


def test_a_text_has_one_answer_in_any_order_and_batch(predictor: Predictor) -> None:
    """Up to the sixth digit, which padding reaches in neural models."""
    texts = [*TEXTS, *ODD_TEXTS, *TEXTS]
    rows = predictor.predict(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    assert np.allclose(predictor.predict([texts[i] for i in order]), rows[order], atol=1e-6)
    assert np.allclose(np.concatenate([predictor.predict([text]) for text in texts]), rows, atol=1e-6)
    assert np.allclose(rows[: len(TEXTS)], rows[-len(TEXTS) :], atol=1e-6)


def test_the_same_call_gives_the_same_bits(predictor: Predictor) -> None:
    assert np.array_equal(predictor.predict(TEXTS), predictor.predict(TEXTS))
