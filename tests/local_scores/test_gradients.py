"""Gradients: of a logistic model, whose slopes are known, and of a transformer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anchorscope import Explainer, registry
from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.local_scores.coalitions import players
from anchorscope.predictors.huggingface import HuggingFacePredictor
from anchorscope.settings import Settings
from anchorscope.testing import WeightPredictor
from anchorscope.types import Unit

WEIGHTS = {"great": 1.5, "bad": -1.0}
TEXT = "great great film, bad cast"


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def values(name: str, model: Any, text: str = TEXT, label: int = 1, **given: Any) -> list[float]:
    positions = tuple(players(text, "words"))
    asked = Unit(0, text, label, positions, (0.9,) * len(positions), float(model.predict([text])[0, label]))
    score = registry.resolve("score", name)(model, None, Settings(score=name, **given))
    found: list[float] = score.measure([asked])[0].value.tolist()
    return found


def test_gradient_x_input_is_the_slope_times_the_weight() -> None:
    """The log-odds are 3 - 1 = 2, where the slope is p (1 - p); "great" occurs twice."""
    slope = sigmoid(2) * (1 - sigmoid(2))
    found = values("gradient-x-input", WeightPredictor(WEIGHTS))
    assert found == pytest.approx([3 * slope, 0.0, -slope, 0.0], abs=1e-6)
    assert values("gradient-x-input", WeightPredictor(WEIGHTS), label=0) == pytest.approx([-v for v in found], abs=1e-6)


def test_integrated_gradients_share_out_what_the_text_says() -> None:
    """Along the straight way each word gets its share of the log-odds: 3/2, 0, -1/2 and 0 of sigmoid(2) - 1/2."""
    all_ = sigmoid(2) - 0.5
    found = values("integrated-gradients", WeightPredictor(WEIGHTS))
    assert found == pytest.approx([1.5 * all_, 0.0, -0.5 * all_, 0.0], abs=1e-6)


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT with a tokenizer of its own, which cuts "unkind" in two; weights by chance."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "film", "un", "##kind", "great", "bad", ",", "cast"]
    inner = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, **names)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(pieces), max_position_embeddings=32, initializer_range=0.6, **shape)
    folder = tmp_path_factory.mktemp("model") / "small"
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_the_gradients_of_a_transformer_are_those_of_small_steps(transformer: Path) -> None:
    """Gradient x input, against the change of the probability when a word's embeddings grow by a thousandth."""
    import torch

    model = HuggingFacePredictor.from_folder(transformer)
    text = "a great unkind film"
    given = model.differentiable([text], 1)
    assert [*map(tuple, given.spans[0])] == [(0, 0), (0, 1), (2, 7), (8, 10), (10, 14), (15, 19), (0, 0)]
    with torch.no_grad():
        before = given.forward(given.embeddings, *given.rest)[0, 1]
        assert float(before) == pytest.approx(float(model.predict([text])[0, 1]), abs=1e-5)
        expected = []
        for places in ([1], [2], [3, 4], [5]):
            grown, shrunk = given.embeddings.clone(), given.embeddings.clone()
            grown[0, places] *= 1.001
            shrunk[0, places] *= 0.999
            up, down = (given.forward(moved, *given.rest)[0, 1] for moved in (grown, shrunk))
            expected.append(float(up - down) / 0.002)
    found = values("gradient-x-input", model, text)
    assert found == pytest.approx(np.clip(expected, -1, 1).tolist(), abs=2e-3)


def test_the_path_of_a_transformer_adds_up(transformer: Path) -> None:
    """All pieces together get what the text says beyond padding; the special ones get nothing."""
    import torch

    model = HuggingFacePredictor.from_folder(transformer)
    text = "great film bad cast"
    given = model.differentiable([text], 1)
    with torch.no_grad():
        whole, nothing = (float(given.forward(e, *given.rest)[0, 1]) for e in (given.embeddings, given.baselines))
    found = values("integrated-gradients", model, text, max_samples=200)
    assert sum(found) == pytest.approx(whole - nothing, abs=5e-3)


def test_a_text_in_a_batch_gets_what_it_gets_alone(transformer: Path) -> None:
    model = HuggingFacePredictor.from_folder(transformer)
    texts = ["great film", "a bad, bad cast and an unkind film", "film"]
    score = registry.resolve("score", "integrated-gradients")(model, None, Settings(score="integrated-gradients"))
    units = []
    for text in texts:
        places = tuple(players(text, "words"))
        units.append(Unit(0, text, 1, places, (0.9,) * len(places), 0.5))
    together = score.measure(units)[0].value
    alone = np.concatenate([score.measure([one])[0].value for one in units])
    assert together == pytest.approx(alone, abs=1e-4)


def test_passes_are_counted_at_the_door_of_the_model(transformer: Path) -> None:
    """Two predictions, and of each document one pass forth and back, or 5 of them."""
    model = HuggingFacePredictor.from_folder(transformer)
    asked = RetryingPredictor(model, Retry())
    texts = ["great film bad cast", "a bad film"]
    for name, passes in (("gradient-x-input", 1), ("integrated-gradients", 5)):
        before = asked.meter.sent
        given = {"score": name, "max_samples": 5, "strategy": "scan"}
        result = Explainer(asked, settings=given).explain(texts)
        assert result.cost.predictor_texts == asked.meter.sent - before == 2 + 2 * passes


def test_workers_follow_a_folder_back(transformer: Path) -> None:
    texts = ["great film bad cast", "a bad film", "great great film", "unkind cast"]
    given = {"score": "gradient-x-input", "strategy": "scan"}
    model = HuggingFacePredictor.from_folder(transformer)
    one, two = (Explainer(model, settings=given, workers=n).explain(texts).explanations for n in (1, 2))
    for label in one:
        assert [t.term for t in one[label].terms] == [t.term for t in two[label].terms]
        assert [t.score for t in one[label].terms] == pytest.approx([t.score for t in two[label].terms], abs=1e-4)
