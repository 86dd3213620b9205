"""Settings that are measured, drawn and replayed: a replay is the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest
from reproductions import WEIGHTS, a_drawing, a_subject, settings_of

from anchorscope.asking.removals import Removals
from anchorscope.errors import RunFolderError
from anchorscope.reproduction import grid, models
from anchorscope.reproduction.agreements import Agreements, KeptProbabilities
from anchorscope.reproduction.measure import Subject, draw, replayed
from anchorscope.reproduction.remembered import Remembered
from anchorscope.reproduction.replay import Replay
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.testing import WeightPredictor
from anchorscope.text.read import read_texts
from anchorscope.types import Snapshot

# --- the grid ---


def test_each_setting_differs_from_its_base_in_what_it_is_named_for() -> None:
    def changed(name: str, base: str) -> set[str]:
        mine, other = (grid.SETTINGS[n].settings(42).to_dict() for n in (name, base))
        return {key for key in mine if mine[key] != other[key]}

    assert changed("delta-0.35", "unoptimised") == {"delta"}
    assert changed("stop-rare", "unoptimised") == {"stop_words", "min_occurrences"}
    assert changed("filter", "stop-rare") == {"filter"}
    assert changed("tau-tilde", "stop-rare") == {"tau_tilde"}
    assert changed("masking", "stop-rare") == {"top_n"}
    assert changed("sample-25", "stop-rare") == {"sample_documents"}
    assert changed("order-length", "stop-rare") == {"order"}
    assert changed("length-400", "stop-rare") == set() and grid.SETTINGS["length-400"].longest == 400
    assert changed("optimised", "stop-rare") == {"delta", "filter", "tau_tilde", "top_n"}
    assert [grid.SETTINGS[n].settings(42).delta for n in grid.DELTAS] == [0.1, 0.15, 0.2, 0.35, 0.5, 0.5]


def test_a_record_holds_the_quality_of_what_was_shown(tmp_path: Path) -> None:
    subject = a_subject()
    record = replayed(subject, settings_of("unoptimised"), a_drawing(tmp_path), with_aggregations=True)
    model = subject.asked
    for label in model.labels:
        last = record["moments"][-1]["labels"][label]
        assert last["terms"] == record["terms"][label] == record["aggregations"]["pr"][label]["terms"][:4]
        assert last["aopc"] == pytest.approx(Removals(model, subject.texts, label).aopc(last["terms"]))
        for name in ("sq", "av"):
            whole = record["aggregations"][name][label]
            assert record["over_time"][name][-1]["labels"][label]["terms"] == whole["terms"]
            assert whole["curve"][-1] == pytest.approx(Removals(model, subject.texts, label).aopc(whole["terms"]))
        places = [word for word, _ in record["positions"][label]["sq"]]
        for word, place in record["positions"][label]["pr"]:
            assert places[place] == word
    seconds = [moment["seconds"] for moment in record["moments"]]
    assert seconds == sorted(seconds) and record["seconds"] == seconds[-1]
    assert record["anchors"]["words"] >= record["anchors"]["of_one_class"] > 0


# --- replays ---

REPLAYED = [name for name in grid.SETTINGS if name != "fast"]


def shown_by(subject: Subject, settings: Settings, replay: Replay | None = None) -> list[Snapshot]:
    """The snapshots of a replay, or of a run of its own."""
    backend = "local" if replay is None else lambda score, workers: replay
    run = Run(read_texts(subject.texts), subject.asked, subject.perturbator, settings, backend=backend)
    return list(run.snapshots())


@pytest.mark.parametrize("name", REPLAYED)
def test_a_replay_is_the_run(drawn: Path, name: str) -> None:
    """Lists with all their counts after every round, tests, samples and documents: for every setting of the grid."""
    subject = a_subject()
    settings = settings_of(name)
    drawing = a_drawing(drawn, settings.top_n)
    known = drawing.agreements.spent.drawn
    replay = Replay(subject.asked, subject.perturbator, settings, drawing.agreements, drawing.keep)
    shown = (shown_by(subject, settings, replay), shown_by(subject, settings))
    assert len(shown[0]) == len(shown[1]) > 2
    for mine, other in zip(*shown):
        assert {**mine.explanations} == {**other.explanations}
        counted = [(one.cost.documents, one.cost.tests, one.cost.undecided, one.cost.samples) for one in (mine, other)]
        assert counted[0] == counted[1]
    if settings.tau_tilde or name == "masking":
        return  # a lowered threshold may ask for more than was drawn
    assert drawing.agreements.spent.drawn == known, "nothing was drawn again"


def test_every_aggregation_is_replayed(drawn: Path) -> None:
    subject = a_subject()
    for aggregation in grid.AGGREGATIONS:
        settings = replace(settings_of("unoptimised"), aggregation=aggregation)
        drawing = a_drawing(drawn)
        replay = Replay(subject.asked, subject.perturbator, settings, drawing.agreements, drawing.keep)
        mine = shown_by(subject, settings, replay)[-1]
        assert mine.explanations == shown_by(subject, settings)[-1].explanations, aggregation


def test_drawing_that_was_stopped_goes_on_to_the_same_bits(drawn: Path, tmp_path: Path) -> None:
    """A deadline that comes in the middle, time and again; and large blocks read deeper, but begin alike."""
    settings = settings_of("unoptimised", 40)
    parts = 0
    while True:  # each call has twice the time of the last, so that a busy machine ends, too
        drawing = a_drawing(tmp_path, deadline=monotonic() + 0.02 * 2**parts)
        try:
            draw(a_subject(), settings, drawing)
            break
        except models.OutOfTimeError:
            parts += 1
        finally:
            drawing.agreements.save()
            drawing.keep.save()
    assert parts > 1
    whole = a_drawing(drawn)
    wide = a_drawing(tmp_path / "wide", at_once=4096)
    draw(a_subject(), settings, wide)
    rows = np.arange(len(whole.agreements))
    assert (drawing.agreements.drawn[rows] == whole.agreements.drawn[rows]).all()
    assert (drawing.agreements.read(rows) == whole.agreements.read(rows)).all()
    assert wide.agreements.spent.drawn > whole.agreements.spent.drawn
    n = int(whole.agreements.drawn[rows].min())
    assert (wide.agreements.read(rows)[:, :n] == whole.agreements.read(rows)[:, :n]).all()


def test_agreements_of_something_else_are_refused(drawn: Path, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="holds samples of another made"):
        Agreements(drawn / "500.npz", {"made": 2}, 1000)
    (tmp_path / "broken.npz").write_bytes(b"PK")
    with pytest.raises(RunFolderError, match="cannot be read"):
        KeptProbabilities(tmp_path / "broken.npz", {})


def becomes(value: Any) -> Callable[[Any], Any]:
    """Something else in place of a column."""
    return lambda column: value


DAMAGE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "no identity": ("identity", becomes(None)),
    "an identity that is a list": ("identity", becomes("[]")),
    "an identity without what was spent": ("identity", becomes('{"made": 1}')),
    "less than no time": ("identity", becomes('{"made": 1, "spent": {"seconds": -1, "drawn": 2}}')),
    "time that is none": ("identity", becomes('{"made": 1, "spent": {"seconds": "long", "drawn": 2}}')),
    "an identity in many brackets": ("identity", becomes("[" * 10**5)),
    "no documents": ("documents", becomes(None)),
    "documents as numbers": ("documents", lambda column: column.astype(float)),
    "one document twice": ("documents", np.zeros_like),
    "a column too few": ("where", lambda column: column[:, :1]),
    "an occurrence of no document": ("where", lambda column: column + 10**6),
    "an occurrence twice": ("where", np.zeros_like),
    "other numbers of rows": ("drawn", lambda column: column[:-1]),
    "more samples than there are": ("drawn", lambda column: column + 10**6),
    "samples of more than a test": ("bits", lambda column: np.zeros((len(column), 10**4), np.uint8)),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_agreements_that_no_run_has_written_are_one_sentence(kind: str, drawn: Path, tmp_path: Path) -> None:
    with np.load(drawn / "500.npz") as file:
        columns = {name: file[name] for name in file.files}
    name, damaged = DAMAGE[kind]
    columns[name] = damaged(columns[name])
    columns = {name: column for name, column in columns.items() if column is not None}
    path = tmp_path / "agreements.npz"
    np.savez(path, **columns)
    with pytest.raises(RunFolderError, match=r"agreements.npz cannot be read \(.+\); take it out of the folder"):
        Agreements(path, {"made": 1}, 1000)


@pytest.mark.parametrize(
    "change",
    [
        {"n_words": np.array([-1], np.int32)},
        {"n_words": np.array([2], np.int32)},
        {"keep": np.array([1.5])},
        {"keep": np.array([np.nan])},
        {"keep": np.array(["x"])},
    ],
    ids=str,
)
def test_probabilities_that_no_run_has_written_are_one_sentence(change: dict[str, Any], tmp_path: Path) -> None:
    identity = json.dumps({"spent": {"seconds": 1.0, "drawn": 1}})
    sound = {
        "identity": identity,
        "documents": np.zeros((1, 16), np.uint8),
        "n_words": np.ones(1, np.int32),
        "keep": np.full(1, 0.5),
    }
    np.savez(tmp_path / "keep.npz", **sound)
    assert len(KeptProbabilities(tmp_path / "keep.npz", {})) == 1
    np.savez(tmp_path / "keep.npz", **{**sound, **change})
    with pytest.raises(RunFolderError, match=r"keep.npz cannot be read \(.+\); take it out of the folder"):
        KeptProbabilities(tmp_path / "keep.npz", {})


def test_an_array_and_a_damaged_file_are_no_agreements(drawn: Path, tmp_path: Path) -> None:
    data = bytearray((drawn / "500.npz").read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    (tmp_path / "damaged.npz").write_bytes(data)
    with (tmp_path / "array.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    for name in ("damaged", "array"):
        with pytest.raises(RunFolderError, match="cannot be read"):
            Agreements(tmp_path / f"{name}.npz", {"made": 1}, 1000)


def test_a_model_is_asked_once_for_a_text() -> None:
    asked = []

    class Counting(WeightPredictor):
        def predict(self, texts):
            asked.extend(texts)
            return super().predict(texts)

    model = Remembered(Counting(WEIGHTS))
    first = model.predict(["a great film", "a bad film", "a great film"])
    again = model.predict(["a bad film", "a great film"])
    assert sorted(asked) == ["a bad film", "a great film"] and (again == first[[1, 0]]).all()
