"""docs/yardsticks.md from the rows in docs/data, as they came out: no number on the page is written by hand.

A cell is the mean over the classes of all tasks of the mean over seeds. Where a list is removed, it is the share of
what the oracle of the very same documents reaches. A contender is compared with ``fast`` (the reference) by the paired
differences of the classes (means over seeds), a t-test each, and the p-values of one table are corrected together by
Holm's method: an arrow says that a contender is above or below the reference at 5%.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from anchorscope.evaluation.known_answers import RULES
from anchorscope.evaluation.shortcuts import ranks
from anchorscope.evaluation.yardsticks import shared_words
from benchmarks import written, yardsticks_caveats, yardsticks_prose, yardsticks_summary
from benchmarks.arenas import MODELS, TASKS, shortcuts
from benchmarks.contenders import CONTENDERS, TORCH_ONLY

K = 20
REFERENCE = "fast"
RIVAL = "occlusion"
GUESS = "surrogate"
LOOP = "surrogate, then tests"
BEFORE = "banzhaf"
COMPARED = (RIVAL, GUESS, LOOP, BEFORE)
TO_ITS_END = "fast, to its end"
"""The simplest rival; what the reference begins with; the plain loop that begins with it, too; and the default before
the reference: it is compared with each line by line. The last is the reference without any limit of calls."""

LEVEL = 0.05
ORACLE_OF = {"deletion": "oracle, deletion", "replacement": "oracle, replacement", "held_out": "oracle, held out"}
TITLES = {
    "deletion": "Deletion: share of the oracle's AOPC^20",
    "replacement": "Replacement: share of the oracle's AOPC^20",
    "held_out": "Documents that were not explained: share of their own oracle's AOPC^20",
    "insertion": "Insertion: mean rise of the label's probability, one listed word in a document of another label",
    "stability": "Stability: share of words that two seeds have in common",
}
TITLES_OF_MODELS = {
    "linear": "Linear classifiers",
    "small": "A small encoder (7 layers of 256)",
    "large": "An encoder of BERT-base's size (12 layers of 768)",
}
SHORT_TITLES = {"linear": "linear", "small": "small encoder", "large": "large encoder"}
SHOWN = {
    "replacement": ("replacement", 2),
    "held_out": ("not explained", 2),
    "insertion": ("insertion", 3),
    "planted": ("planted words", 2),
}
"""The yardsticks of the first screen, their names there, and how many digits they have."""

VARIANTS = ("fast, all calls", "fast, no surrogate")
"""The reference again: no rivals of it."""

PAGE = Path(__file__).parents[1] / "docs" / "yardsticks.md"

Row = Mapping[str, str]
Cells = dict[tuple[str, str], dict[str, float]]
"""(method, calls) -> class -> a figure, in the mean over seeds."""


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(folder: Path, page: Path = PAGE) -> None:
    """Write the page from the rows in a folder."""
    by_model = {name: read(folder / f"yardsticks_{name}.csv") for name in MODELS}
    parts = [
        yardsticks_prose.HEAD,
        *_screen(by_model),
        yardsticks_prose.HOW.format(best=_best(by_model)),
        _methods(by_model),
    ]
    parts += [
        yardsticks_prose.UNEQUAL.format(unmade=_unmade(by_model), in_turn=written.IN_TURN, twice=written.TWICE),
        _made(by_model),
    ]
    for model, title in TITLES_OF_MODELS.items():
        if by_model[model]:
            told = [_facts(by_model[model]), _accuracy(folder, model), _settled(by_model[model])]
            told += yardsticks_caveats.unmeasured(by_model[model])
            parts += [f"## {title}", _bullets(told), *_tables(by_model[model])]
    if by_model["planted"]:
        rows = by_model["planted"]
        told = _bullets([_facts(rows), *yardsticks_caveats.unmeasured(rows)])
        parts += ["## Planted shortcuts", yardsticks_prose.PLANTED, told, *_there(rows, TASKS), *_planted(rows)]
    if by_model["rule"]:
        told = _bullets([_facts(by_model["rule"]), yardsticks_prose.KNOWN_HERE])
        parts += ["## Rules with a known answer", yardsticks_prose.KNOWN, told, *_there(by_model["rule"], RULES)]
        parts += _known(by_model["rule"])
    roar = read(folder / "yardsticks_roar.csv")
    if roar:
        parts += [
            "## Retraining without the words (ROAR)",
            yardsticks_prose.ROAR,
            _roar(roar, by_model["linear"]),
        ]
    planting = read(folder / "planting.csv")
    if planting:
        parts += ["## Words planted in a model: `evaluate --plant`", yardsticks_prose.PLANTING, *_planting(planting)]
    peers = read(folder / "peers.csv")
    if peers:
        parts += ["## anchor-exp and alibi", _peers(peers)]
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


# --- figures from rows ---


def figures(rows: Sequence[Row], column: str) -> Cells:
    """The mean over seeds of a column for every method, number of calls and class; a share where it has an oracle."""
    if column == "stability":
        return _stability(rows)
    oracle = {
        class_of(row): float(row[column])
        for row in rows
        if row["method"] == ORACLE_OF.get(column) and row[column] != ""
    }
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row[column] == "" or (column in ORACLE_OF and row["method"].startswith("oracle")):
            continue
        share = oracle[class_of(row)] if column in ORACLE_OF else 1.0
        of_class = values.setdefault((row["method"], row["calls"]), {})
        of_class.setdefault(class_of(row), []).append(float(row[column]) / share)
    return {key: {name: float(np.mean(seeds)) for name, seeds in of.items()} for key, of in values.items()}


def _stability(rows: Sequence[Row]) -> Cells:
    lists: dict[tuple[str, str], dict[str, list[list[str]]]] = {}
    for row in rows:
        if not row["method"].startswith("oracle"):
            key = (row["method"], row["calls"])
            lists.setdefault(key, {}).setdefault(class_of(row), []).append(yardsticks_caveats.listed(row))
    shared = {key: {name: shared_words(of, K) for name, of in classes.items()} for key, classes in lists.items()}
    return {
        key: told
        for key, classes in shared.items()
        if (told := {name: value for name, value in classes.items() if value is not None})
    }


def class_of(row: Row) -> str:
    """The class that a row is about."""
    return f"{row['task']} {row['label']}"


def differences(cells: Cells, key: tuple[str, str], other: tuple[str, str]) -> list[float]:
    """By how much one contender exceeds another, class by class."""
    mine = cells.get(key, {})
    theirs = cells.get(other, {})
    return [mine[name] - theirs[name] for name in sorted(mine.keys() & theirs.keys())]


def p_value(values: Sequence[float]) -> float:
    """That of a two-sided t-test of the mean against 0; 1 where there is nothing to test.

    >>> round(p_value([0.1, 0.2, 0.3]), 3), p_value([0.1])
    (0.074, 1.0)
    """
    if len(values) < 2:
        return 1.0
    spread = float(np.std(values, ddof=1))
    if spread == 0:
        return 0.0 if np.mean(values) else 1.0
    t = float(np.mean(values)) / (spread / len(values) ** 0.5)
    return float(2 * stats.t.sf(abs(t), len(values) - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's method.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    found = [0.0] * len(p_values)
    worst = 0.0
    for step, i in enumerate(order.tolist()):
        worst = max(worst, min(1.0, (len(p_values) - step) * p_values[i]))
        found[i] = worst
    return found


def band(values: Sequence[float]) -> float:
    """Half the width of the 95% band of the mean."""
    if len(values) < 2:
        return float("nan")
    return float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)


# --- tables ---


def _tables(rows: Sequence[Row]) -> Iterable[str]:
    for column in ("replacement", "held_out", "insertion", "stability", "deletion"):
        cells = figures(rows, column)
        if cells:
            yield f"### {TITLES[column]}"
            yield _by_calls(cells, 3 if column == "insertion" else 2)
            yield from filter(None, [_two_rules(rows, column)])
            yield from filter(None, [_versus(cells)])


def _by_calls(cells: Cells, digits: int, best_of: Callable[..., float] = max) -> str:
    """A row a method, a column a number of calls; the best of a column is bold."""
    all_calls = sorted({calls for _, calls in cells if calls.isdigit()}, key=int)
    methods = sorted({method for method, calls in cells if calls.isdigit()}, key=_place)
    own = {method: np.mean([*of.values()]) for (method, calls), of in cells.items() if not calls.isdigit()}
    arrows = _arrows(cells)
    complete = {calls: max(len(cells.get((m, calls), {})) for m in methods) for calls in all_calls}
    best = {
        calls: best_of(np.mean([*cells[m, calls].values()]) for m in methods if len(cells.get((m, calls), {})) == n)
        for calls, n in complete.items()
    }
    lines = []
    for method in methods:
        told = []
        for calls in all_calls:
            mine = cells.get((method, calls), {})
            mean = float(np.mean([*mine.values()])) if mine else float("nan")
            text = f"{mean:.{digits}f}" if len(mine) == complete[calls] else ""
            told.append(f"**{text}**" if text and mean == best[calls] else text + arrows.get((method, calls), ""))
        lines.append([method, *told])
    table = _markdown(["calls, predictions included", *(f"{int(calls):,}" for calls in all_calls)], lines)
    if own:
        told = "; ".join(f"{method} {mean:.{digits}f}" for method, mean in own.items())
        table += f"\n\nAt their own defaults, on all documents: {told}."
    return table


def _two_rules(rows: Sequence[Row], column: str) -> str | None:
    """That the reference without a limit is the reference with the largest one, where their rows are of two rules."""
    ended = {row["commit"] for row in rows if row["method"] == TO_ITS_END and row.get(column)}
    mine = [row for row in rows if row["method"] == REFERENCE and row["calls"].isdigit()]
    most = max((int(row["calls"]) for row in mine), default=0)
    now = {row["commit"] for row in mine if int(row["calls"]) == most}
    if not any(map(written.is_former, ended)) or any(map(written.is_former, now)):
        return None
    return (
        f"`{TO_ITS_END}` is what `{REFERENCE}` at {most:,} calls is, under another rule (commit "
        f"{', '.join(sorted(ended))}, {written.OF_FORMER_RULE})."
    )


def _screen(by_model: Mapping[str, Sequence[Row]]) -> Iterable[str]:
    """The first screen: the reference beside the best of the others, then beside each rival, then where it fails."""
    tables = []
    for column, (name, digits) in SHOWN.items():
        for model, title in {**SHORT_TITLES, "planted": SHORT_TITLES["linear"]}.items():
            cells = figures(by_model[model], column) if (model == "planted") == (column == "planted") else {}
            if cells:
                tables.append(yardsticks_summary.Compared(title, name, cells, _arrows(cells), digits))
    if not tables:
        return
    yield yardsticks_prose.SCREEN.format(reference=REFERENCE, loop=LOOP)
    calls = [f"{int(n):,}" for n in yardsticks_summary.calls_of(tables[0].cells, REFERENCE)]
    yield _markdown(
        ["models", "yardstick", *calls], [*yardsticks_summary.lines(tables, REFERENCE, VARIANTS)], n_words=2
    )
    yield yardsticks_prose.LOST.format(
        reference=REFERENCE, behind=yardsticks_summary.behind(tables, REFERENCE, VARIANTS)
    )
    heads = [f"`{REFERENCE}` ahead of", *dict.fromkeys(table.yardstick for table in tables)]
    yield _markdown(heads, [*yardsticks_summary.counted(tables, REFERENCE, COMPARED)])
    yield from filter(None, [_blind(by_model["rule"])])


def _blind(rows: Sequence[Row]) -> str | None:
    """The rule of which the reference has least, and who has all of it at every number of calls."""
    mine = [row for row in rows if row["task"] == "redundant" and row["calls"].isdigit()]
    shares: dict[str, list[float]] = {}
    all_calls = sorted({row["calls"] for row in mine}, key=int)
    for method in sorted({row["method"] for row in mine}, key=_place):
        of_calls = ([float(r["known"]) for r in mine if (r["method"], r["calls"]) == (method, n)] for n in all_calls)
        shares[method] = [float(np.mean(of)) for of in of_calls if of]
    sure = [method for method, of in shares.items() if min(of) == 1 and len(of) == len(all_calls)]
    if REFERENCE not in shares or not sure:
        return None
    names = [f"`{method}`" for method in sure]
    span = f"{int(all_calls[0]):,} to {int(all_calls[-1]):,}"
    told = {"least": f"{min(shares[REFERENCE]):.2f}", "most": f"{max(shares[REFERENCE]):.2f}", "calls": span}
    return yardsticks_prose.BLIND.format(reference=REFERENCE, others=", ".join(names), **told)


def _methods(by_model: Mapping[str, Sequence[Row]]) -> str:
    """What each method that has a row does."""
    run = {row["method"] for rows in by_model.values() for row in rows}
    there = [
        name for name in yardsticks_prose.METHODS if any(method.startswith(name.removesuffix(" …")) for method in run)
    ]
    return _markdown(
        ["method", "what it does"], [[f"`{name}`", yardsticks_prose.METHODS[name]] for name in there], n_words=2
    )


def _best(by_model: Mapping[str, Sequence[Row]]) -> str:
    """In how many columns the reference is bold, where the yardstick is none of its kin."""
    inserted = [figures(by_model[name], "insertion") for name in TITLES_OF_MODELS if by_model[name]]
    planted = [figures(by_model["planted"], "planted")] if by_model["planted"] else []
    told = [f"in insertion `{REFERENCE}` is the best in {_bold(inserted)}"]
    return " and ".join([*told, *(f"by the share of planted words in {_bold([cells])}" for cells in planted)])


def _bold(tables: Sequence[Cells]) -> str:
    n = 0
    bold = 0
    for cells in tables:
        for calls in {calls for method, calls in cells if method == REFERENCE and calls.isdigit()}:
            means = {m: np.mean([*of.values()]) for (m, c), of in cells.items() if c == calls}
            n += 1
            bold += means[REFERENCE] == max(means.values())
    return f"{bold or 'none'} of {n} columns"


def _unmade(by_model: Mapping[str, Sequence[Row]]) -> str:
    """The contenders that no row is about."""
    run = {row["method"] for rows in by_model.values() for row in rows}
    lacking = [f"`{name}`" for name in CONTENDERS if name not in run]
    return f"\n- Not run on any of these models: {', '.join(lacking)}." if lacking else ""


def _place(method: str) -> int:
    """Where a contender stands in a table; one that takes part no longer, last."""
    names = [*TORCH_ONLY, *CONTENDERS]
    return names.index(method) if method in names else len(names)


def _arrows(cells: Cells) -> dict[tuple[str, str], str]:
    """Which contenders are above or below the reference after Holm's correction over the whole table."""
    keys = [key for key in cells if key[0] != REFERENCE and key[1].isdigit()]
    found = {key: differences(cells, key, (REFERENCE, key[1])) for key in keys}
    corrected = holm([p_value(found[key]) for key in keys])
    return {
        key: ("↑" if np.mean(found[key]) > 0 else "↓") for key, p in zip(keys, corrected) if p < LEVEL and found[key]
    }


def _versus(cells: Cells) -> str | None:
    """The reference against some rivals: mean difference over classes, its 95% band, in how many it is ahead."""
    all_calls = yardsticks_summary.calls_of(cells, REFERENCE)
    lines = [[f"`{rival}`", *_against(cells, rival, all_calls)] for rival in COMPARED]
    shown = [line for line in lines if any(line[1:])]
    heads = [f"`{REFERENCE}` minus", *(f"{int(calls):,}" for calls in all_calls)]
    return _markdown(heads, shown) if shown else None


def _against(cells: Cells, rival: str, all_calls: Sequence[str]) -> list[str]:
    """A line of that table; p-values are corrected over its numbers of calls."""
    found = [differences(cells, (REFERENCE, calls), (rival, calls)) for calls in all_calls]
    corrected = dict(
        zip((calls for calls, of in zip(all_calls, found) if of), holm([p_value(of) for of in found if of]))
    )
    told = []
    for calls, values in zip(all_calls, found):
        if not values:
            told.append("")
            continue
        signs = "*" * (corrected[calls] < LEVEL) + "†" * _apart_over_corpora(cells, rival, calls)
        ahead = f"{sum(value > 0 for value in values)}/{len(values)}"
        told.append(f"{np.mean(values):+.3f} ± {band(values):.3f}, {ahead}{signs and ' '}{signs}")
    return told


def _apart_over_corpora(cells: Cells, rival: str, calls: str) -> bool:
    """Whether the band leaves out 0 where all classes of a corpus count as one case."""
    of_corpus: dict[str, list[float]] = {}
    mine, theirs = cells.get((REFERENCE, calls), {}), cells.get((rival, calls), {})
    for name in mine.keys() & theirs.keys():
        corpus = yardsticks_caveats.corpus(name.split(" ")[0])
        of_corpus.setdefault(corpus, []).append(mine[name] - theirs[name])
    values = [float(np.mean(of)) for of in of_corpus.values()]
    return len(values) > 1 and bool(abs(np.mean(values)) > band(values))


def _there(rows: Sequence[Row], tasks: Sequence[str]) -> Iterable[str]:
    """Which contenders and seeds there are, and which are missing."""
    run = [task for task in tasks if any(row["task"] == task for row in rows)]
    _, _, lacking = yardsticks_caveats.seeds_there(rows, [*CONTENDERS], tasks)
    heads, lines, _ = yardsticks_caveats.seeds_there(rows, [*CONTENDERS], run)
    fewer = [line for line in lines if set(line[1:]) != {str(yardsticks_caveats.SEEDS)}]
    whole = f"{len(lines) - len(fewer)} of {len(lines)} methods have all {yardsticks_caveats.SEEDS} seeds."
    yield f"{whole} {lacking}{' The others:' if fewer else ''}"
    if fewer:
        yield _markdown(heads, fewer)


KINDS_OF_SHORTCUTS = ("rare (0.6%)", "less rare (2%)", "frequent (5%)", "unreliable (3%, 80%)", "two together (2%)")
"""In the order of ``arenas.shortcuts``."""


def _planted(rows: Sequence[Row]) -> Iterable[str]:
    rows = [row for row in rows if row["calls"].isdigit()]
    places = _planted_ranks(rows)
    yield "Share found among the first 20:"
    shares = figures(rows, "planted")
    yield _by_calls(shares, 2)
    yield from filter(None, [_versus(shares)])
    yield yardsticks_prose.RANKS
    ranked = [{**row, "rank": str(np.mean([rank for kind in of for rank in kind]))} for row, of in zip(rows, places)]
    yield _by_calls(figures(ranked, "rank"), 1, best_of=min)
    calls = sorted({row["calls"] for row in rows}, key=int)
    middle = calls[len(calls) // 2]
    found = []
    lines = []
    for method in sorted({row["method"] for row in rows}, key=_place):
        mine = [of for row, of in zip(rows, places) if (row["method"], row["calls"]) == (method, middle)]
        by_kind = [np.array([of[kind] for of in mine]) for kind in range(len(KINDS_OF_SHORTCUTS))]
        found.append([method, *(f"{np.mean(of <= K):.2f}" for of in by_kind)])
        lines.append([method, *(f"{np.mean(of):.1f}" for of in by_kind)])
    yield f"By kind, at {int(middle):,} calls:"
    yield _markdown(["found", *KINDS_OF_SHORTCUTS], found)
    yield _markdown(["mean rank", *KINDS_OF_SHORTCUTS], lines)


def _planted_ranks(rows: Sequence[Row]) -> list[list[list[int]]]:
    """For each row and kind of shortcut the ranks of its words in the list; K + 1 where they are not in it."""
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault(row["task"], set()).add(row["label"])
    found = []
    for row in rows:
        mine = [shortcut for shortcut in shortcuts(sorted(labels[row["task"]])) if shortcut.label == row["label"]]
        words = yardsticks_caveats.listed(row)[:K]
        found.append([[K + 1 if rank is None else rank for rank in ranks(words, one.words)] for one in mine])
    return found


def _known(rows: Sequence[Row]) -> Iterable[str]:
    names = [*dict.fromkeys(row["task"] for row in rows)]
    yield yardsticks_prose.LEAST
    yield _markdown(["", *names], [*_least(rows, names)])
    for calls in sorted({row["calls"] for row in rows if row["calls"].isdigit()}, key=int):
        here = [row for row in rows if row["calls"] == calls]
        methods = sorted({row["method"] for row in here}, key=_place)

        def cell(method: str, name: str, here: Sequence[Row] = here) -> str:
            values = [float(row["known"]) for row in here if (row["method"], row["task"]) == (method, name)]
            return f"{np.mean(values):.2f}" if values else ""

        yield f"At {int(calls):,} calls; {_n_seeds(here)}:"
        yield _markdown(["", *names], [[method, *(cell(method, name) for name in names)] for method in methods])


def _least(rows: Sequence[Row], names: Sequence[str]) -> Iterable[list[str]]:
    """For each method and rule the least number of calls from which on every seed has all of the answer."""
    all_calls = sorted({int(row["calls"]) for row in rows if row["calls"].isdigit()})
    worst: dict[tuple[str, str, int], float] = {}
    for row in rows:
        if row["calls"].isdigit():
            key = (row["method"], row["task"], int(row["calls"]))
            worst[key] = min(worst.get(key, 1.0), float(row["known"]))
    for method in sorted({method for method, _, _ in worst}, key=_place):
        told = []
        for name in names:
            short = [n for n in all_calls if worst.get((method, name, n), 1.0) < 1]
            later = [n for n in all_calls if n > max(short, default=0)]
            told.append(f"{later[0]:,}" if later else "–")
        yield [method, *told]


def _roar(rows: Sequence[Row], lists: Sequence[Row]) -> str:
    names = [*dict.fromkeys(row["task"] for row in rows)]
    methods = [*dict.fromkeys(row["method"] for row in rows if row["method"] not in list(ORACLE_OF.values())[1:])]

    def lost(method: str) -> list[float]:
        """By task, the mean over seeds."""
        found = []
        for task in names:
            mine = [row for row in rows if (row["method"], row["task"]) == (method, task)]
            found.append(float(np.mean([float(row["accuracy"]) - float(row["without"]) for row in mine] or [np.nan])))
        return found

    by_method = {method: lost(method) for method in methods}
    lines = [[method, *_three(of), *_three([float(np.mean(of))])] for method, of in by_method.items()]
    n_words = {method: np.mean([int(row["words"]) for row in rows if row["method"] == method]) for method in methods}
    fewest = ", ".join(f"`{method}` {n:.0f}" for method, n in n_words.items() if n < 35)
    made = f"{_n_seeds(rows)}; commit {', '.join(sorted({row['commit'] for row in rows}))}."
    made += yardsticks_caveats.retrained(rows, lists) + _former([{**row, "commit": row["lists"]} for row in rows])
    told = [made, yardsticks_caveats.one_corpus(rows).strip()]
    for rival in (RIVAL, LOOP):
        apart = [ours - theirs for ours, theirs in zip(by_method[REFERENCE], by_method.get(rival, ()))]
        versus = f"{np.mean(apart):+.3f} ± {band(apart):.3f} (p {p_value(apart):.2g})" if apart else ""
        told.append(f"`{REFERENCE}` minus `{rival}`, over tasks: {versus}." if apart else "")
    told.append(f"Words taken out: about 40; {fewest}, as both classes have the same ones." if fewest else "")
    return _bullets(told) + "\n\n" + _markdown(["accuracy lost", *names, "mean"], lines)


def _three(values: Sequence[float]) -> list[str]:
    return ["" if np.isnan(value) else f"{value:.3f}" for value in values]


def _planting(rows: Sequence[Row]) -> Iterable[str]:
    def line(name: str, chosen: Sequence[Row]) -> list[str]:
        known = [row for row in chosen if row["inside"] != ""]
        inside = np.mean([row["inside"] == "True" for row in known]) if known else float("nan")
        shown = [row["shown"] == "True" for row in chosen if row["due"] == "True"]
        found = f"{sum(shown)} of {len(shown)}" if shown else ""
        return [name, str(len(chosen)), found, str(len(known)), f"{inside:.0%}" if known else ""]

    heads = ["", "planted", "due, and found", "with interval", "truth inside it"]
    sets = {task: [row for row in rows if row["task"] == task] for task in dict.fromkeys(row["task"] for row in rows)}
    strengths: dict[str, Callable[[float], bool]] = {
        "shift below 1": lambda s: s < 1,
        "1 to 2": lambda s: 1 <= s < 2,
        "2 and more": lambda s: s >= 2,
    }
    sets |= {name: [row for row in rows if fits(float(row["shift"]))] for name, fits in strengths.items()}
    sets["all"] = [*rows]
    told = f"{_n_seeds(rows)}; commit {', '.join(sorted({row['commit'] for row in rows}))}.{_former(rows)}"
    yield told + yardsticks_caveats.one_corpus(rows)
    yield _markdown(heads, [line(name, chosen) for name, chosen in sets.items()])
    yield _bullets([_missed(sets), yardsticks_caveats.below(rows)])


def _missed(sets: Mapping[str, Sequence[Row]]) -> str:
    """In which rows of the table of planted words less than was promised lies inside its interval.

    >>> _missed({"a": [{"inside": "True"}], "b": [{"inside": "False"}, {"inside": ""}], "c": [{"inside": ""}]})
    'Of the 2 rows of this table that have intervals 1 is below 85%, which is **missed** there: b 0.0%.'
    """
    known = {name: [row["inside"] == "True" for row in rows if row["inside"] != ""] for name, rows in sets.items()}
    shares = {name: float(np.mean(of)) for name, of in known.items() if of}
    few = [f"{name} {share:.1%}" for name, share in shares.items() if share < yardsticks_caveats.PROMISED]
    promised = f"{yardsticks_caveats.PROMISED:.0%}"
    there = f"the {len(shares)} rows of this table that have intervals"
    if not few:
        return f"None of {there} is below {promised}."
    is_or_are = "is" if len(few) == 1 else "are"
    return f"Of {there} {len(few)} {is_or_are} below {promised}, which is **missed** there: {', '.join(few)}."


def _peers(rows: Sequence[Row]) -> str:
    lines = []
    for contender in ("anchor-exp, paper's rule", "anchor-exp, own bound", "alibi, one anchor a document"):
        mine = [row for row in rows if row["contender"] == contender]
        if not mine:
            continue
        best = max(
            np.mean([float(row["share_same"]) for row in mine if row["aggregation"] == name])
            for name in {row["aggregation"] for row in mine}
        )
        texts = np.mean([float(row["texts_per_document"]) for row in mine])
        documents = sorted({int(row["documents"]) for row in mine})
        lines.append([contender, " and ".join(map(str, documents)), f"{texts:,.0f}", f"{best:.2f}"])
    return yardsticks_prose.PEERS + "\n\n" + _markdown(["", "documents", "calls a document", "share"], lines)


def _facts(rows: Sequence[Row]) -> str:
    names = ", ".join(dict.fromkeys(row["task"] for row in rows))
    documents = " or ".join(sorted({row["documents"] for row in rows}))
    commits = yardsticks_caveats.commits(rows)
    n_classes = len({class_of(row) for row in rows})
    return (
        f"{names}: {documents} documents each, {n_classes} classes, {_n_seeds(rows)}, {len(rows):,} lists; "
        f"commit {commits}.{_former(rows)}{yardsticks_caveats.one_corpus(rows)}"
    )


def _bullets(told: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in told if sentence)


def _former(rows: Sequence[Row]) -> str:
    """A sentence where the lists of the reference within a number of calls, or all its rows, are of an older race."""
    mine = [row for row in rows if row.get("method", REFERENCE) in (REFERENCE, f"{REFERENCE}, all calls")]
    ages = {written.OF_FORMER_RULE: written.is_former, written.OF_FORMER_PRIOR: written.has_former_prior}
    told = ""
    for age, is_of in ages.items():
        commits = sorted({row["commit"] for row in mine if is_of(row["commit"])})
        told += f" `{REFERENCE}`: commit {', '.join(commits)}, {age}." if commits else ""
    return told


def _accuracy(folder: Path, model: str) -> str:
    """How good the classifiers of a kind are, where ``benchmarks.classifiers`` has told it."""
    path = folder / "yardsticks_encoders.json"
    of_model = json.loads(path.read_text(encoding="utf-8")).get(model) if path.exists() else None
    if not of_model:
        return ""
    told = ", ".join(f"{task} {max(accuracies):.3f}" for task, accuracies in of_model.items())
    return f"Validation accuracy of the classifiers, in the epoch that was chosen by it: {told}."


def _settled(rows: Sequence[Row]) -> str:
    """How many calls the reference takes where it may take the most."""
    most = max((int(row["calls"]) for row in rows if row["calls"].isdigit()), default=0)
    asked = [int(row["asked"]) for row in rows if row["method"] == REFERENCE and row["calls"] == str(most)]
    if not asked:
        return ""
    told = f"{min(asked):,} to {max(asked):,}, {np.median(asked):,.0f} in the median"
    return f"Of {most:,} calls `{REFERENCE}` takes {told}: it ends when it holds its lists for settled."


def _n_seeds(rows: Sequence[Row]) -> str:
    """How many seeds there are; of methods that have fewer, how many they have."""
    seeds: dict[str, dict[tuple[str, str], set[str]]] = {}
    for row in [row for row in rows if row["calls"].isdigit()] or rows:
        pieces = seeds.setdefault(row.get("method", ""), {})
        pieces.setdefault((row["task"], row["calls"]), set()).add(row["seed"])
    least = {method: min(map(len, pieces.values())) for method, pieces in seeds.items()}
    most = max(least.values())
    fewer = ", ".join(f"{method} {n}" for method, n in least.items() if n < most)
    return f"{most} seeds" + (f" ({fewer})" if fewer else "")


def _made(by_model: Mapping[str, Sequence[Row]]) -> str:
    told = ", ".join(f"`docs/data/yardsticks_{name}.csv`" for name, rows in by_model.items() if rows)
    told += (
        ", `docs/data/yardsticks_roar.csv`, `docs/data/planting.csv`. `make yardsticks DATA=FOLDER` makes those that"
    )
    told += " are missing, and this page. Each section names the commits of its rows."
    return f"Rows: {told}"


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]], n_words: int = 1) -> str:
    """A table whose first columns are words, and the others numbers, which stand to the right."""
    rule = ["---"] * n_words + ["---:"] * (len(heads) - n_words)
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, rule, *lines))
