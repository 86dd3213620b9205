"""The models of the tasks: encoders that are trained, kept and read back; and the study of aggregations."""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic

import pytest
from reproductions import WEIGHTS, sentences

from anchorscope.errors import InputError, UnknownNameError
from anchorscope.reproduction import models, tasks
from benchmarks import paper_grid

# --- the study of aggregations ---


def test_the_study_of_aggregations_compares_orders(data: Path) -> None:
    """Of three pairs two are in the same order and one is not: 1/3; a word with a weight for its label comes first."""
    from benchmarks import aggregations

    assert aggregations.agreement({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "c": 2}) == pytest.approx(1 / 3)
    assert aggregations.agreement({"a": 1, "b": 1}, {"a": 2, "b": 2}) == 1
    task = tasks.load("corona", data)
    texts = [text for text, _ in task.explained(24)]
    model = models.load("logistic-regression", task, models.Workshop(Path()))
    found = aggregations.explain(model, texts, "mask-token", "shared", "kl", 0)
    ranked = found["positive"]["total"]["all"]
    assert WEIGHTS[ranked[0]] > 0 and sorted(ranked) == sorted(found["positive"]["sq"]["all"])


# --- models ---


def test_a_small_bert_is_fine_tuned_and_read_back(data: Path, tmp_path: Path) -> None:
    whole = tasks.load("rotten-tomatoes", data)
    task = tasks.Task(whole.name, whole.train[:24], whole.validation[:8], whole.test[:8], True)
    workshop = models.Workshop(tmp_path, epochs=1)
    predictor = models.load("small-bert", task, workshop)
    assert predictor.labels == ("negative", "positive")
    written = json.loads((tmp_path / "rotten-tomatoes__small-bert" / "accuracy.json").read_text())
    assert written["validation"] == [models.accuracy(predictor, task.validation)]
    again = models.load("small-bert", task, workshop)
    assert again.fingerprint == predictor.fingerprint, "trained once"


def test_a_deberta_is_trained_in_pieces_and_fine_tuned(data: Path, tmp_path: Path) -> None:
    """Stopped after its first step, training goes on with the second; the weights are those of one go."""
    from anchorscope.reproduction.pretrain import pretrain

    text = tmp_path / "text.txt"
    text.write_text("\n".join(text for text, _ in sentences(120, seed=9)))
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    small = {"device": "cpu", "steps": 3, "shape": shape, "batch": 4}
    with pytest.raises(models.OutOfTimeError, match="1 of 3 steps"):
        pretrain([text], tmp_path / "deberta-pretrained", deadline=monotonic() - 1, **small)
    pretrain([text], tmp_path / "deberta-pretrained", **small)
    pretrain([text], tmp_path / "at-once", **small)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("deberta-pretrained", "at-once")]
    assert weights[0] == weights[1]
    config = json.loads((tmp_path / "at-once" / "config.json").read_text())
    assert config["model_type"] == "deberta-v2" and config["pos_att_type"] == ["p2c", "c2p"]
    whole = tasks.load("rotten-tomatoes", data)
    task = tasks.Task(whole.name, whole.train[:16], whole.validation[:4], whole.test[:4], True)
    predictor = models.load("deberta", task, models.Workshop(tmp_path, epochs=1))
    assert predictor.predict(["a great film"]).shape == (1, 2)


def test_deberta_without_text_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name text files with --corpus"):
        models.load("deberta", tasks.load("corona", data), models.Workshop(tmp_path))
    with pytest.raises(UnknownNameError, match="did you mean 'deberta'"):
        models.load("debreta", tasks.load("corona", data), models.Workshop(tmp_path))


def test_a_process_waits_for_the_encoder_that_another_trains(tmp_path: Path) -> None:
    """deberta is pretrained by one process; then a task's classifier is trained by one, whatever its seed."""
    first, other, seed = (
        paper_grid.Job("deberta", *rest) for rest in (("corona", 42), ("dilemma", 42), ("corona", 84))
    )
    assert paper_grid.jobs(["deberta"], ["corona", "dilemma"], [42, 84])[:2] == [first, other]
    assert paper_grid.may_begin(first, [], tmp_path) and not paper_grid.may_begin(other, [first], tmp_path)
    (tmp_path / "models" / "deberta-pretrained").mkdir(parents=True)
    assert paper_grid.may_begin(other, [first], tmp_path) and not paper_grid.may_begin(seed, [first], tmp_path)
    (tmp_path / "models" / "corona__deberta").mkdir()
    assert paper_grid.may_begin(seed, [first], tmp_path)
