"""The records of all runs as flat rows: means and spreads over seeds, ready for figures, CSV files and claims.

A *box* is one task, model and label, as the boxes of the paper's figures. Shared terms compare a run's list with the
final list of the unoptimised run of the same seed; as a list without stop words cannot share those of one that has
them, ``shared_with_stop_rare`` compares with that of stop-rare. ``seed_overlap`` compares two seeds of one setting. A
list has *evidence* if each of its k words was an anchor at least once: the others stand there in the order of the
alphabet. Times are those of a run that draws its own samples (``measure.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from anchorscope.reproduction import grid, models, tasks
from anchorscope.reproduction.records import Key, Record, present, select

Row = dict[str, Any]

UNOPTIMISED = "unoptimised"

SENTENCES = ("sentences", "proposals")
"""The records that hold no run but what sentences do."""


@dataclass(frozen=True, order=True)
class Box:
    """One task, model and label."""

    task: str
    model: str
    label: str


class Summary:
    """What the records say, all seeds together."""

    def __init__(self, records: Mapping[Key, Record]) -> None:
        self.records = {key: record for key, record in records.items() if key.setting in grid.SETTINGS}
        self.sentences = {key: record for key, record in records.items() if key.setting in SENTENCES}
        self.tasks = present((key.task for key in self.records), tasks.NAMES)
        self.models = present((key.model for key in self.records), models.NAMES)

    def settings(self, task: str, model: str) -> list[str]:
        """The settings that were run."""
        return present((k.setting for k in self.records if (k.task, k.model) == (task, model)), grid.SETTINGS)

    def runs(self, task: str, model: str, setting: str) -> list[Record]:
        """The runs of one setting, by seed."""
        return select(self.records, task=task, model=model, setting=setting)

    @cached_property
    def boxes(self) -> list[Box]:
        """Every task, model and label that has a run."""
        found = []
        for task in self.tasks:
            for model in self.models:
                labels: dict[str, None] = {}
                for key, record in self.records.items():
                    if (key.task, key.model) == (task, model):
                        labels.update(dict.fromkeys(record["terms"]))
                found += [Box(task, model, label) for label in sorted(labels)]
        return found

    def boxes_with(self, *settings: str) -> list[Box]:
        """The boxes that have all of some settings, and evidence in their lists."""
        return [box for box in self.boxes if all(self.has_evidence(box, setting) for setting in settings)]

    def judged_pairs(self, *settings: str) -> list[tuple[str, str]]:
        """The tasks and models that have some box with evidence in all of some settings."""
        return [*dict.fromkeys((box.task, box.model) for box in self.boxes_with(*settings))]

    def pairs_with(self, *settings: str) -> list[tuple[str, str]]:
        """The tasks and models that have runs of all of some settings, whatever their lists are worth."""
        return [
            (task, model)
            for task in self.tasks
            for model in self.models
            if all(self.runs(task, model, setting) for setting in settings)
        ]

    def curves(self, box: Box, name: str) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """AOPC^1 to AOPC^k of an aggregation, (seeds, k)."""
        runs = self.runs(box.task, box.model, "unoptimised")
        found = [r["aggregations"][name][box.label]["curve"] for r in runs if box.label in r["aggregations"][name]]
        return _table(found)

    def final(self, box: Box, setting: str, what: str = "aopc") -> np.ndarray[Any, np.dtype[np.float64]]:
        """AOPC^k (or the drop of all k terms) at the end of each run of a setting, (seeds,)."""
        runs = self.runs(box.task, box.model, setting)
        return np.array([r["moments"][-1]["labels"][box.label][what] for r in runs if box.label in r["terms"]])

    def spent(
        self, task: str, model: str, setting: str, what: str = "seconds"
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The seconds of each run of a setting, or another of its costs, (seeds,)."""
        runs = self.runs(task, model, setting)
        return np.array([run["seconds"] if what == "seconds" else run["cost"][what] for run in runs], np.float64)

    def has_evidence(self, box: Box, setting: str) -> bool:
        """Whether all words listed by every run of a setting were anchors."""
        runs = [run for run in self.runs(box.task, box.model, setting) if box.label in run["terms"]]
        return bool(runs) and all(run["with_evidence"][box.label] >= run["settings"]["top_k"] for run in runs)

    def over_time(self, box: Box, setting: str, aggregation: str | None = None) -> list[Row]:
        """Seconds, AOPC^k and shared terms at each moment: means over seeds, and the spread of AOPC^k and sharing."""
        runs = [r for r in self.runs(box.task, box.model, setting) if box.label in r["terms"]]
        tracks = [r["over_time"][aggregation] if aggregation else r["moments"] for r in runs]
        if not tracks:
            return []
        rows = []
        for i in range(min(map(len, tracks))):
            now = [track[i] for track in tracks]
            aopc = [moment["labels"][box.label]["aopc"] for moment in now]
            shared = [
                share
                for run, moment in zip(runs, now)
                if (share := self._shared(box, run, moment["labels"][box.label]["terms"])) is not None
            ]
            rows.append(
                {
                    "seconds": float(np.mean([moment["seconds"] for moment in now])),
                    "aopc": float(np.mean(aopc)),
                    "aopc_sd": _spread(aopc),
                    "shared": float(np.mean(shared)) if shared else None,
                    "shared_sd": _spread(shared) if shared else None,
                }
            )
        return rows

    def _shared(self, box: Box, run: Record, terms: Sequence[str], reference: str = UNOPTIMISED) -> float | None:
        """The share of the terms of a reference of the same seed that are among some terms."""
        key = Key(box.task, box.model, reference, run["seed"])
        if key not in self.records or box.label not in self.records[key]["terms"]:
            return None
        wanted = self.records[key]["terms"][box.label]
        return len({*terms} & {*wanted}) / max(1, len(wanted))

    def shared(self, box: Box, setting: str, reference: str = UNOPTIMISED) -> list[float]:
        """The share of terms that each run of a setting has in common with a reference of the same seed."""
        runs = [r for r in self.runs(box.task, box.model, setting) if box.label in r["terms"]]
        shares = [self._shared(box, run, run["terms"][box.label], reference) for run in runs]
        return [share for share in shares if share is not None]

    def seed_overlap(self, box: Box, setting: str = "unoptimised") -> float | None:
        """The mean share of terms that two seeds of one setting have in common."""
        lists = [{*r["terms"][box.label]} for r in self.runs(box.task, box.model, setting) if box.label in r["terms"]]
        pairs = [len(a & b) / max(1, len(a)) for a, b in combinations(lists, 2)]
        return float(np.mean(pairs)) if pairs else None

    # --- rows for CSV files ---

    def aggregation_rows(self) -> Iterator[Row]:
        """AOPC^k by aggregation and k, mean and spread over seeds."""
        for box in self.boxes:
            for name in grid.AGGREGATIONS:
                table = self.curves(box, name) if self.runs(box.task, box.model, "unoptimised") else None
                for k in range(0 if table is None else table.shape[1]):
                    assert table is not None
                    values = {"k": k + 1, "aopc": table[:, k].mean(), "sd": _spread(table[:, k]), "seeds": len(table)}
                    yield {**vars(box), "aggregation": name, **values}

    def setting_rows(self) -> Iterator[Row]:
        """Time and quality of every setting, mean and spread over seeds."""
        for box in self.boxes:
            for setting in self.settings(box.task, box.model):
                runs = self.runs(box.task, box.model, setting)
                seconds = self.spent(box.task, box.model, setting)
                aopc = self.final(box, setting)
                shared = self.shared(box, setting)
                narrow = self.shared(box, setting, "stop-rare")
                if not len(aopc):
                    continue
                yield {
                    **vars(box),
                    "setting": setting,
                    "seeds": len(runs),
                    "documents": runs[0]["n_documents"],
                    "seconds": seconds.mean(),
                    "seconds_sd": _spread(seconds),
                    "samples": np.mean([r["cost"]["samples"] for r in runs]),
                    "tests": np.mean([r["cost"]["tests"] for r in runs]),
                    "passes": np.mean([r["cost"]["perturbator_passes"] for r in runs]),
                    "aopc": aopc.mean(),
                    "aopc_sd": _spread(aopc),
                    "drop_of_all": self.final(box, setting, "drop").mean(),
                    "shared": np.mean(shared) if shared else None,
                    "shared_with_stop_rare": np.mean(narrow) if narrow else None,
                    "with_evidence": np.mean([r["with_evidence"].get(box.label, 0) for r in runs]),
                    "seed_overlap": self.seed_overlap(box, setting),
                }

    def time_rows(self) -> Iterator[Row]:
        """Quality over measured time."""
        for box in self.boxes:
            for setting in self.settings(box.task, box.model):
                for row in self.over_time(box, setting):
                    yield {**vars(box), "setting": setting, "aggregation": "as set", **row}
            for name in ("sq", "av") if self.runs(box.task, box.model, "unoptimised") else ():
                for row in self.over_time(box, "unoptimised", name):
                    yield {**vars(box), "setting": "unoptimised", "aggregation": name, **row}

    def sentence_rows(self) -> Iterator[Row]:
        """The accuracy-drop table; ``in_top_10`` says whether the first alternative is a top term of optimised G_pr."""
        for key, record in sorted(self.sentences.items(), key=lambda item: (SENTENCES.index(item[0].setting), item[0])):
            top = [run["terms"] for run in self.runs(key.task, key.model, "optimised")[:1]]
            for sentence in record["sentences"]:
                first = sentence["effects"][0]["alternative"]
                for effect in sentence["effects"]:
                    yield {
                        "task": key.task,
                        "model": key.model,
                        "label": sentence["label"],
                        "sentence": effect["sentence"],
                        "alternative": effect["alternative"],
                        "proposed": sentence["proposed"],
                        "in_top_10": first in top[0].get(sentence["label"], [])[:10] if top else None,
                        "documents": sentence["documents"],
                        "accuracy_before": sentence["accuracy"],
                        "accuracy_after": effect["accuracy"],
                        "drop": effect["drop"],
                    }

    def top_rows(self, settings: Sequence[str] = ("stop-rare", "optimised", "fast"), k: int = 10) -> Iterator[Row]:
        """The top terms of settings without stop words, of the first seed."""
        for box in self.boxes:
            for setting in settings:
                for run in self.runs(box.task, box.model, setting)[:1]:
                    terms = run["terms"].get(box.label, [])[:k]
                    yield {**vars(box), "setting": setting, "seed": run["seed"], "terms": ", ".join(terms)}

    def side_by_side_rows(self, k: int = 10) -> Iterator[Row]:
        """G_pr, G_av and G_sq side by side, without the stop-word filter, of the first seed."""
        for box in self.boxes:
            for run in self.runs(box.task, box.model, "unoptimised")[:1]:
                for name in ("pr", "av", "sq"):
                    terms = run["aggregations"][name].get(box.label, {"terms": []})["terms"][:k]
                    yield {**vars(box), "aggregation": name, "seed": run["seed"], "terms": ", ".join(terms)}

    def position_rows(self, k: int = 19) -> Iterator[Row]:
        """G_pr against G_sq: each term with its 0-based position in the other's full list, of the first seed."""
        for box in self.boxes:
            for run in self.runs(box.task, box.model, "unoptimised")[:1]:
                for name, terms in run["positions"].get(box.label, {}).items():
                    for place, (term, other) in enumerate(terms[:k]):
                        where = {"position": place, "position_in_other": other}
                        yield {**vars(box), "aggregation": name, "term": term, **where}


def _table(rows: Sequence[Sequence[float]]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Rows cut to the shortest, or None if there are none."""
    if not rows:
        return None
    width = min(map(len, rows))
    return np.array([row[:width] for row in rows], np.float64)


def _spread(values: Sequence[float] | np.ndarray[Any, Any]) -> float:
    """The standard deviation over seeds; 0 for one seed."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
