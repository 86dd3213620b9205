"""What is bought by blocks of samples: does it pay to measure a document again, and when? Figures of docs/method.md.

    OMP_NUM_THREADS=1 python -m benchmarks.offers --data FOLDER [--tasks corona] [--documents 1000] [--seeds 12]

Every document of a task is measured POOL times under the preset banzhaf (linear classifier, words taken out,
candidates of any frequency). For each seed the measurements of each document are put into an order of its own: a race
reads the first ones, and the mean of those that none can read are the known values. Races that buy differently are
then compared at equal calls:

    wishes     new documents only: those that most of the words in doubt want (the rule before)
    twice      the same, each measured twice
    documents  new documents only: those that gain most
    then       the same, and where all documents are tested, the measurements that gain most
    all        documents and measurements compete (the rule)

Each begins with so many documents a label in plain priority order (``start``). No race ends by itself before its calls
are spent, or there is nothing left to buy. ``regret`` is what the shown list of k = 20 lacks of the best one, by the
known totals, ``stated`` what it is said to lack, ``covered`` the share of shown words whose 90% interval holds the
known total: means of labels, seeds. ``apart`` and ``band``: the regret less that of the rule before, at the same calls,
start and seeds, and twice the standard error of that difference. ``settled`` is the share of the seeds in which the
regret that is stated of all labels comes below 2%, and ``settled_at`` the mean number of calls at which it first does,
in those seeds in which it does by every rule of the start that settles any; ``regret_then`` and ``covered_then`` are
regret and coverage at that moment, or at the end where it never comes.

Writes offers.json and .csv, the rows of other tasks and numbers of documents being kept; and with --draw the table into
docs/method.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anchorscope.local_scores.repeats import is_repeated
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.planning.candidates import priorities
from anchorscope.planning.collection import Collection, Predictions, collect
from anchorscope.planning.offers import MOST_MEASURED
from anchorscope.planning.plan import Counted, Round
from anchorscope.planning.race import Race
from anchorscope.sampling.engine import Engine
from anchorscope.scoring import settling
from anchorscope.settings import Settings, preset
from anchorscope.text.read import read_texts
from anchorscope.types import Unit
from benchmarks import classifiers, tasks, written

Floats = NDArray[np.float64]

POOL = 44
K = 20
GOAL = 0.02
CALLS = (8000, 12000, 16000, 20000, 24000, 28000, 36000, 44000, 52000)
BLOCK = 24
STARTS = (256, 64)
NAMED = {
    "wishes": "most wanted documents (before)",
    "twice": "the same, each measured twice",
    "documents": "documents that gain most",
    "then": "then measurements",
    "all": "both compete (the rule)",
}
"""The rules; the first one is what the others are compared with."""

BEGIN, END = "<!-- offers: written by python -m benchmarks.offers -->", "<!-- end of offers -->"


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The candidates of some documents; value and told variance of every occurrence, (measurements, occurrences)."""

    collection: Collection
    values: Floats
    variances: Floats


def pool(name: str, arguments: argparse.Namespace) -> Pool:
    """Every document of a task, measured POOL times with seeds that no race has."""
    task = tasks.load(name, arguments.data, arguments.documents)
    model = classifiers.train("linear", task.train)
    settings = preset("banzhaf", min_occurrences=1)
    documents = [*read_texts(task.texts).documents]
    said = Predictions.of(np.asarray(model.predict([document.text for document in documents])))
    collection = collect(documents, model.labels, said, settings)
    every = np.arange(len(collection.occurrence_term))
    parts = [(number, every[collection.occurrences_of(number)]) for number in range(len(documents))]
    round_ = collection.round_of(parts, lambda some: np.full(len(some), settings.tau))
    found = []
    for number in range(POOL):
        sampling = replace(settings.sampling, seed=10**6 + number)
        engine = Engine(model, MaskTokenPerturbator(), sampling, settings.anchor_test)
        found.append(engine.measure(round_.units)[0])
    return Pool(collection, np.array([one.value for one in found]), np.array([one.variance for one in found]))


class Endless(Race):
    """A race that goes on until its calls are spent, by one of the rules."""

    rule: ClassVar[str] = "all"

    def _is_settled(self, label: int) -> bool:
        return False

    def _may_measure_again(self, label: int) -> bool:
        return self.rule not in ("wishes", "twice") and bool(self._sums.repeats.any())

    def _gain_of_further(self, label: int) -> Floats:
        is_all_tested = bool((self._sums.counted[label] == self._known.documents[label]).all())
        may = self.rule == "all" or (self.rule == "then" and is_all_tested)
        return super()._gain_of_further(label) if may else np.zeros(len(self._n_measured))


class Replay:
    """The measurements of a pool as one seed has them: in an order of its own for each document."""

    def __init__(self, of: Pool, seed: int, *, twice: bool) -> None:
        c = of.collection
        order = np.argsort(np.random.default_rng(seed).random((len(c.documents), POOL)), axis=1)[c.occurrence_document]
        self.collection = replace(c, priority=priorities(seed, [document.key for document in c.documents]))
        units = [Unit(0, document.text, 0, ((0,),), (1.0,)) for document in c.documents]
        self.keyed = np.array([twice or is_repeated(unit) for unit in units])
        self._values = np.take_along_axis(of.values, order.T, axis=0)
        self._variances = np.take_along_axis(of.variances, order.T, axis=0)

    def totals(self) -> Floats:
        """The known totals (labels, terms): of the measurements that no race reads."""
        c = self.collection
        shape = len(c.labels), len(c.terms)
        place = c.occurrence_label.astype(np.int64) * shape[1] + c.occurrence_term
        known = np.bincount(place, self._values[MOST_MEASURED:].mean(axis=0), minlength=shape[0] * shape[1])
        return known.astype(np.float64).reshape(shape)

    def measured(self, round_: Round) -> tuple[Counted, int]:
        """What a round finds, and the calls that it takes."""
        kept = round_.occurrences >= 0
        numbers = np.array([unit.number for unit in round_.units for _ in unit.positions])[kept]
        occurrences = round_.occurrences[kept]
        order = np.argsort(occurrences)
        occurrences, numbers = occurrences[order], numbers[order]
        twice = (numbers == 0) & self.keyed[self.collection.occurrence_document[occurrences]]
        found = Counted(
            occurrences,
            anchor=np.zeros(len(occurrences), bool),
            value=np.round(self._values[numbers, occurrences], 6),
            noise=self._variances[numbers, occurrences],
            repeat=np.where(twice, np.round(self._values[1, occurrences], 6), np.nan),
            further=numbers > 0,
            calls=np.full(len(occurrences), BLOCK),
        )
        n_blocks = sum(1 + (unit.number == 0 and bool(self.keyed[unit.document])) for unit in round_.units)
        return found, BLOCK * n_blocks


def raced(replay: Replay, settings: Settings) -> Iterator[tuple[float, ...]]:
    """After each round: the calls in all, then true regret, stated regret and coverage of each label in turn."""
    race, tally, truth = Endless(replay.collection, settings), replay.collection.tally, replay.totals()
    calls = len(replay.collection.documents)
    while calls < CALLS[-1] and (round_ := race.next_round(tally)) is not None:
        found, taken = replay.measured(round_)
        race.count(found)
        calls += taken
        row: list[float] = [calls]
        for label, now in enumerate(race._forecasts):
            row += _compared(now, truth[label], tally.documents[label])
        yield tuple(row)


def _compared(now: Any, truth: Floats, documents: NDArray[np.int64]) -> tuple[float, float, float]:
    shown = now.best
    best = np.sort(truth[documents > 0])[-K:].sum()
    place = np.searchsorted(now.contenders, shown)
    covered = (now.forecast.low[place] <= truth[shown]) & (truth[shown] <= now.forecast.high[place])
    return float(1 - truth[shown].sum() / best), float(now.forecast.regret), float(covered.mean())


def rows_of(name: str, of: Pool, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row a start, rule and number of calls."""
    for start in STARTS:
        settling.START_DOCUMENTS = start
        curves: dict[str, list[Floats]] = {}
        for rule in NAMED:
            Endless.rule = rule
            replays = (Replay(of, seed, twice=rule == "twice") for seed in range(arguments.seeds))
            curves[rule] = [np.array([*raced(one, _settings(seed))]) for seed, one in enumerate(replays)]
        ends = {rule: [_settled(curve) for curve in found] for rule, found in curves.items()}
        settles = [[end is not None for end in found] for found in ends.values()]
        in_all = np.all([row for row in settles if any(row)] or [[False] * arguments.seeds], axis=0)
        for rule, found in curves.items():
            apart = np.array([_at(curve, 1) for curve in found]) - [_at(curve, 1) for curve in curves["wishes"]]
            means = [np.mean([_at(curve, column) for curve in found], axis=0) for column in (1, 2, 3)]
            band = 2 * apart.std(axis=0, ddof=1) / np.sqrt(len(found))
            last = [curve[-1 if end is None else end] for curve, end in zip(found, ends[rule])]
            at = [row[0] for row, end, common in zip(last, ends[rule], in_all) if common and end is not None]
            then = {
                "settled": float(np.mean([end is not None for end in ends[rule]])),
                "settled_at": round(float(np.mean(at))) if at else None,
                "regret_then": float(np.mean([row[1::3].mean() for row in last])),
                "covered_then": float(np.mean([row[3::3].mean() for row in last])),
            }
            for number, calls in enumerate(CALLS):
                figures = dict(zip(("regret", "stated", "covered"), (float(mean[number]) for mean in means)))
                told = {"apart": float(apart[:, number].mean()), "band": float(band[number])}
                yield {"task": name, "start": start, "rule": rule, "calls": calls, **figures, **told, **then}


def _settings(seed: int) -> Settings:
    return preset("banzhaf", min_occurrences=1, seed=seed, top_k=K, regret=GOAL)


def _at(curve: Floats, column: int) -> Floats:
    """A column, as a mean over labels, where each number of calls is reached."""
    rows = [np.flatnonzero(curve[:, 0] <= calls)[-1] for calls in CALLS]
    means: Floats = curve[rows][:, column::3].mean(axis=1)
    return means


def _settled(curve: Floats) -> int | None:
    """The first round after which the stated regret of all labels is below the goal."""
    below = np.flatnonzero((curve[:, 2::3] < GOAL).all(axis=1))
    return int(below[0]) if len(below) else None


def main(given: Sequence[str] | None = None) -> None:
    """Measure, race and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["amazon", "corona"], choices=tasks.NAMES)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--draw", action="store_true", help="write the table of what is kept, and race nothing")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args(given)
    if arguments.draw:
        draw(written.DATA.parent / "method.md")
        return
    path = (arguments.out or written.DATA) / "offers.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    rows = [row for row in kept if row["task"] not in arguments.tasks or row["documents"] != arguments.documents]
    known = {"documents": arguments.documents, "seeds": arguments.seeds, "commit": str(written.facts()["commit"])[:9]}
    for name in arguments.tasks:
        for row in rows_of(name, pool(name, arguments), arguments):
            print(", ".join(f"{k} {v:.4f}" if isinstance(v, float) else f"{v}" for k, v in row.items()), flush=True)
            rows.append({**row, **known})
    written.write("offers", arguments, rows)


SHOWN = (8000, 12000, 20000, 28000, 44000)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """True regret in per cent by calls, a row a task, number of documents and rule; with the start that races have."""
    at = "calls until then"
    head = ["task", "documents", "bought", *(f"{n:,}" for n in SHOWN), "settled", at, "regret, covered then"]
    lines = [head, ["---"] * len(head)]
    by_race: dict[tuple[str, int, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["start"] == STARTS[0]:
            by_race.setdefault((row["task"], row["documents"], row["rule"]), []).append(row)
    for (task, documents, rule), mine in by_race.items():
        cells = [f"{100 * row['regret']:.2f}{_mark(row)}" for row in mine if row["calls"] in SHOWN]
        one = mine[0]
        calls = "" if one["settled_at"] is None else f"{one['settled_at']:,}"
        then = f"{100 * one['regret_then']:.2f}, {100 * one['covered_then']:.0f}%"
        lines.append([task, f"{documents:,}", NAMED[rule], *cells, f"{100 * one['settled']:.0f}%", calls, then])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _mark(row: Mapping[str, Any]) -> str:
    """Better (*) or worse (!) than the rule before, beyond the band."""
    return " *" if row["apart"] + row["band"] < 0 else " !" if row["apart"] - row["band"] > 0 else ""


def draw(page: Path) -> None:
    """Write the table between its marks."""
    rows = json.loads((written.DATA / "offers.json").read_text(encoding="utf-8"))["rows"]
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
