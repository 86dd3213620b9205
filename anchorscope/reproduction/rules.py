"""The rules that decide from the records whether a claim holds: each looks at a summary and says what it measured.

A rule looks at every box (task, model, class) that has the runs it needs. ``holds`` means in all boxes (or, where the
claim is about an average, on average), ``in part`` in at least half of them, ``does not hold`` in fewer. A box counts
only if the lists in question have evidence: k words that were anchors, and not the alphabet. Where no box has, the
claim is ``not testable at this size``; ``not testable here`` means that no record can tell. Differences in AOPC count
from 5% of the larger value (TOLERANCE) up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anchorscope.reproduction import grid
from anchorscope.reproduction.summary import UNOPTIMISED, Box, Summary

TOLERANCE = 0.05

HOLDS = "holds"
IN_PART = "in part"
FAILS = "does not hold"
UNTESTABLE = "not testable here"
TOO_SMALL = "not testable at this size"

Answer = tuple[str, str]
"""What was measured, and the verdict."""


def _counted(outcomes: Sequence[tuple[Box, bool]], what: str) -> Answer:
    """In how many boxes something is so, where it is not, and the verdict."""
    if not outcomes:
        return "no run for it", UNTESTABLE
    yes = sum(so for _, so in outcomes)
    not_so = [_name(box) for box, so in outcomes if not so]
    where = f"; not in {', '.join(not_so[:6])}{' …' if len(not_so) > 6 else ''}" if not_so else ""
    verdict = HOLDS if yes == len(outcomes) else IN_PART if 2 * yes >= len(outcomes) else FAILS
    return f"{what} in {yes} of {len(outcomes)} boxes{where}", verdict


def _name(box: Box) -> str:
    return f"{box.task} {box.label} ({box.model})"


def _no_less(value: float, other: float) -> bool:
    """Whether a value is at least another, but for the tolerance."""
    return value >= other - TOLERANCE * max(abs(value), abs(other))


def _aopc(summary: Summary, box: Box, name: str, k: int = -1) -> float:
    table = summary.curves(box, name)
    assert table is not None
    return float(table[:, min(k, table.shape[1] - 1) if k >= 0 else -1].mean())


def steepest(summary: Summary) -> Answer:
    """G_pr leads after five terms."""
    outcomes = [
        (box, all(_no_less(_aopc(summary, box, "pr", 4), _aopc(summary, box, n, 4)) for n in ("sq", "h", "av", "av5")))
        for box in summary.boxes_with("unoptimised")
    ]
    return _counted(outcomes, "AOPC^5 of G_pr is the highest of all aggregations, or within 5% of it,")


def above_baselines(summary: Summary) -> Answer:
    """G_pr is above the baselines after twenty."""
    outcomes = [
        (box, all(_aopc(summary, box, "pr") > _aopc(summary, box, name) for name in ("base", "pr-inverse")))
        for box in summary.boxes_with("unoptimised")
    ]
    return _counted(outcomes, "AOPC^20 of G_pr is above G_base and G_pr^-1")


def average_inferior(summary: Summary) -> Answer:
    """G_av is the lowest."""
    outcomes = [
        (box, all(_aopc(summary, box, "av") < _aopc(summary, box, name) for name in ("pr", "sq", "h")))
        for box in summary.boxes_with("unoptimised")
    ]
    return _counted(outcomes, "AOPC^20 of G_av is below G_pr, G_sq and G_h")


def close(summary: Summary) -> Answer:
    """G_sq and G_h are near G_pr."""
    boxes = summary.boxes_with("unoptimised")
    found = {name: [_aopc(summary, box, name) for box in boxes] for name in ("pr", "sq", "h")}
    outcomes = [
        (box, all(abs(value - pr) <= 0.2 * abs(pr) for value in others))
        for box, pr, *others in zip(boxes, found["pr"], found["sq"], found["h"])
    ]
    measured, verdict = _counted(outcomes, "both within 20% of G_pr's AOPC^20")
    if boxes:
        sq, h = (_of_sums(found[name], found["pr"]) for name in ("sq", "h"))
        measured += f"; summed over the boxes G_sq has {sq:.2f}, G_h {h:.2f} of G_pr's"
    return measured, verdict


def one_class(summary: Summary) -> Answer:
    """Most words that are anchors are so in one class."""
    found = []
    for task, model in summary.pairs_with("unoptimised"):
        counts = [run["anchors"] for run in summary.runs(task, model, "unoptimised")]
        words = np.mean([c["of_one_class"] / max(1, c["words"]) for c in counts])
        anchors = np.mean([c["of_words_of_one_class"] / max(1, c["anchors"]) for c in counts])
        found.append((f"{task} ({model})", float(words), float(anchors)))
    if not found:
        return "no run for it", UNTESTABLE
    words = np.mean([f[1] for f in found])
    anchors = np.mean([f[2] for f in found])
    low = min(found, key=lambda f: f[1])
    measured = (
        f"{words:.0%} of the words that are anchors at all are so in one class only (least: {low[0]}, {low[1]:.0%}); "
        f"they hold {anchors:.0%} of all anchors"
    )
    return measured, HOLDS if min(f[1] for f in found) > 0.5 else IN_PART if words > 0.5 else FAILS


def orders(summary: Summary) -> Answer:
    """Quality over the run, by the order of the documents."""
    boxes = summary.boxes_with(*grid.ORDERS)
    if not boxes:
        return "no run for it", UNTESTABLE
    areas = {
        setting: [np.mean([row["aopc"] for row in summary.over_time(box, setting)]) for box in boxes]
        for setting in grid.ORDERS
    }
    ratios = {setting: _of_sums(areas[setting], areas["stop-rare"]) for setting in grid.ORDERS[1:]}
    told = ", ".join(f"{setting.removeprefix('order-')} {ratio:.2f}" for setting, ratio in ratios.items())
    low = min(ratios.values())
    return (
        f"mean AOPC^20 over the run, summed over the boxes, relative to descending confidence: {told} (the final lists "
        "are the same)",
        HOLDS if low >= 0.9 else IN_PART if low >= 0.75 else FAILS,
    )


def _against(summary: Summary, setting: str, base: str, claim: str) -> Answer:
    """AOPC^20 of a setting is no less than that of its base; on average over boxes."""
    boxes = summary.boxes_with(setting, base)
    if not boxes:
        return "no run for it", UNTESTABLE
    pairs = [(summary.final(box, setting).mean(), summary.final(box, base).mean()) for box in boxes]
    outcomes = [(box, _no_less(float(new), float(old))) for box, (new, old) in zip(boxes, pairs)]
    measured, _ = _counted(outcomes, claim)
    ratio = _of_sums([new for new, _ in pairs], [old for _, old in pairs])
    mean_holds = ratio >= 1 - TOLERANCE
    yes = sum(so for _, so in outcomes)
    verdict = HOLDS if yes == len(outcomes) else IN_PART if mean_holds or 2 * yes >= len(outcomes) else FAILS
    return f"{measured}; summed AOPC^20 {ratio:.2f} of {base}'s, time {_time_ratio(summary, setting, base)}", verdict


def _of_sums(values: Sequence[float], others: Sequence[float]) -> float:
    """One sum over another: boxes in which hardly any word matters weigh little."""
    return float(sum(values) / max(1e-9, sum(others)))


def _time_ratio(summary: Summary, setting: str, base: str) -> str:
    ratios = _ratios(summary, setting, base)
    return (
        f"{_span(ratios)} of it, samples {_span(_ratios(summary, setting, base, 'samples'))}" if ratios else "unknown"
    )


def _span(ratios: Sequence[float]) -> str:
    """A mean with its range."""
    return f"{np.mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _ratios(summary: Summary, setting: str, base: str, what: str = "seconds") -> list[float]:
    """The mean time (or samples) of a setting over that of another, for each task and model that has both."""
    return [
        float(summary.spent(task, model, setting, what).mean() / summary.spent(task, model, base, what).mean())
        for task, model in summary.judged_pairs(setting, base)
    ]


def stop_rare(summary: Summary) -> Answer:
    """What leaving out stop and rare words costs."""
    return _against(summary, "stop-rare", "unoptimised", "AOPC^20 no lower without stop and rare words")


def delta(summary: Summary) -> Answer:
    """What a delta of 0.5 costs."""
    return _against(summary, "delta-0.5", "unoptimised", "AOPC^20 at delta 0.5 no lower than at 0.1")


def each_accelerates(summary: Summary) -> Answer:
    """Time with each optimisation alone; masking where there are proposals to choose from."""
    told = []
    faster = 0
    n = 0
    for setting, where in (("filter", summary), ("tau-tilde", summary), ("masking", _proposing(summary))):
        ratios = _ratios(where, setting, "stop-rare")
        if ratios:
            samples = _ratios(where, setting, "stop-rare", "samples")
            told.append(f"{setting} {_span(ratios)}, samples {np.mean(samples):.2f}")
            faster += sum(ratio < 1 for ratio in ratios)
            n += len(ratios)
    if not n:
        return "no run for it", UNTESTABLE
    verdict = HOLDS if faster == n else IN_PART if 2 * faster >= n else FAILS
    return f"time relative to stop-rare: {'; '.join(told)}; faster in {faster} of {n} cases", verdict


def _proposing(summary: Summary) -> Summary:
    """What was run with a perturbator that proposes words."""
    return Summary({k: run for k, run in summary.records.items() if run["made"]["perturbator"] != "mask-token"})


def tau_tilde(summary: Summary) -> Answer:
    """Which optimisation has the lowest AOPC, where all three can act."""
    summary = _proposing(summary)
    boxes = summary.boxes_with("filter", "tau-tilde", "masking")
    if not boxes:
        return "no run for it", UNTESTABLE
    means = {
        s: float(np.mean([summary.final(box, s).mean() for box in boxes])) for s in ("filter", "tau-tilde", "masking")
    }
    told = ", ".join(f"{setting} {mean:.4f}" for setting, mean in means.items())
    least_of_others = min(means["filter"], means["masking"])
    if _no_less(means["tau-tilde"], least_of_others):
        verdict = IN_PART if means["tau-tilde"] < least_of_others else FAILS
    else:
        verdict = HOLDS
    return f"mean AOPC^20: {told}", verdict


def masking(summary: Summary) -> Answer:
    """What 50 proposals instead of 500 cost."""
    proposing = _proposing(summary)
    if not proposing.records:
        return "the perturbator mask-token proposes nothing", UNTESTABLE
    return _against(proposing, "masking", "stop-rare", "AOPC^20 with 50 proposals no lower than with 500")


def filter_saves(summary: Summary) -> Answer:
    """The share of time that the filter saves."""
    ratios = _ratios(summary, "filter", "stop-rare")
    if not ratios:
        return "no run for it", UNTESTABLE
    saved = [1 - ratio for ratio in ratios]
    inside = [0.25 <= share <= 0.45 for share in saved]
    verdict = HOLDS if all(inside) else IN_PART if 0.25 <= np.mean(saved) <= 0.45 or any(inside) else FAILS
    samples = 1 - np.mean(_ratios(summary, "filter", "stop-rare", "samples"))
    measured = f"saves {np.mean(saved):.0%} of the time on average ({min(saved):.0%} to {max(saved):.0%})"
    return f"{measured}, and {samples:.0%} of the samples", verdict


SHARING = (*grid.OPTIMISATIONS, *grid.DELTAS[1:5])
"""The settings whose terms are compared with those of the unoptimised run."""


def shared(summary: Summary) -> Answer:
    """Terms shared with the unoptimised run of the same seed."""
    by_setting = {
        setting: [
            float(np.mean(summary.shared(box, setting)))
            for box in summary.boxes_with(UNOPTIMISED, setting)
            if summary.shared(box, setting)
        ]
        for setting in SHARING
    }
    every = [share for shares in by_setting.values() for share in shares]
    if not every:
        return "no run for it", UNTESTABLE
    boxes = summary.boxes_with(UNOPTIMISED)
    overlaps = [overlap for box in boxes if (overlap := summary.seed_overlap(box)) is not None]
    told = ", ".join(f"{s} {np.mean(shares):.2f}" for s, shares in by_setting.items() if shares)
    narrow = [x for box in boxes for s in grid.OPTIMISATIONS[1:] for x in summary.shared(box, s, "stop-rare")]
    told += f"; the optimisations against stop-rare: {np.mean(narrow):.2f}" if narrow else ""
    beside = f"; two seeds of the unoptimised setting share {np.mean(overlaps):.2f}" if overlaps else ""
    mean = float(np.mean(every))
    verdict = HOLDS if 0.7 <= mean <= 0.9 else IN_PART if 0.6 <= mean <= 1 else FAILS
    return f"mean share {mean:.2f}: {told}{beside}", verdict


def less_on_corona(summary: Summary) -> Answer:
    """Terms shared with the unoptimised run on corona negative, beside the rest."""
    shares = {
        box: float(np.mean(found))
        for box in summary.boxes_with(UNOPTIMISED)
        if (found := [x for s in SHARING if summary.has_evidence(box, s) for x in summary.shared(box, s)])
    }
    mine = [share for box, share in shares.items() if (box.task, box.label) == ("corona", "negative")]
    others = [share for box, share in shares.items() if (box.task, box.label) != ("corona", "negative")]
    if not mine or not others:
        return "no run for it", UNTESTABLE
    verdict = HOLDS if np.mean(mine) < np.mean(others) - 0.02 else FAILS
    return f"corona negative {np.mean(mine):.2f}, all other boxes {np.mean(others):.2f}", verdict


def linear_in_length(summary: Summary) -> Answer:
    """Seconds a document, by the bound on its length."""
    told = []
    outcomes = []
    for task, model in summary.pairs_with(*grid.LENGTHS):
        runs = {bound: summary.runs(task, model, setting) for setting, bound in grid.LENGTHS.items()}
        characters = {bound: float(np.mean([run["characters"] for run in some])) for bound, some in runs.items()}
        if characters[400] < 1.1 * characters[200]:  # no documents as long as that
            continue
        seconds = {b: float(np.mean([run["seconds"] / run["n_documents"] for run in some])) for b, some in runs.items()}
        rates = [seconds[bound] / characters[bound] for bound in runs]
        shown = ", ".join(f"{bound}: {seconds[bound]:.3f} s for {characters[bound]:.0f} characters" for bound in runs)
        told.append(f"{task} ({model}) {shown}")
        outcomes.append(max(rates) <= 1.5 * min(rates))
    if not outcomes:
        return "no task with documents of all lengths", UNTESTABLE
    verdict = HOLDS if all(outcomes) else IN_PART if any(outcomes) else FAILS
    return f"mean time and length of a document by the bound: {'; '.join(told)}", verdict


def sentences(summary: Summary) -> Answer:
    """What a term and its substitute do to the accuracy."""
    rows = [row for row in summary.sentence_rows() if row["task"] in ("corona", "toys") and not row["proposed"]]
    if not rows:
        return "no task with the paper's sentences", UNTESTABLE
    firsts = []
    others = []
    told = []
    for first, other in zip(rows[::2], rows[1::2]):
        firsts.append(float(first["drop"]))
        others.append(float(other["drop"]))
        told.append(f"{first['alternative']}/{other['alternative'] or 'nothing'} {firsts[-1]:.0%}/{others[-1]:.0%}")
    so = np.mean(firsts) >= 0.4 and max(others) <= 0.08
    part = np.mean(firsts) >= 0.3 and np.mean(others) <= 0.15
    measured = f"drops in points: {', '.join(told)}; mean {np.mean(firsts):.0%} against {np.mean(others):.0%}"
    return measured, HOLDS if so else IN_PART if part else FAILS


def times_faster(summary: Summary) -> Answer:
    """Unoptimised over optimised time."""
    pairs = summary.judged_pairs("unoptimised", "optimised")
    if not pairs:
        return "no run for it", UNTESTABLE
    told = {
        f"{task} ({model})": float(
            summary.spent(task, model, "unoptimised").mean() / summary.spent(task, model, "optimised").mean()
        )
        for task, model in pairs
    }
    most = max(told.values())
    verdict = HOLDS if most >= 30 else IN_PART if most >= 10 else FAILS
    samples = 1 / np.mean(_ratios(summary, "optimised", "unoptimised", "samples"))
    measured = ", ".join(f"{name} {ratio:.1f}x" for name, ratio in told.items())
    return f"{measured}; samples {samples:.1f}x fewer on average", verdict


def seconds(summary: Summary) -> Answer:
    """When the optimised run is as good as the unoptimised one ends, nearly."""
    told = []
    so = []
    for box in summary.boxes_with(UNOPTIMISED, "optimised"):
        whole = float(summary.spent(box.task, box.model, UNOPTIMISED).mean())
        when = _when_good(summary, box)
        so.append((box, when is not None and when <= whole / 10))
        if when is not None:
            told.append(when / whole)
    measured, verdict = _counted(so, "optimised, 80% of the unoptimised AOPC^20 within a tenth of its time")
    if so:
        some = f", where it is, after {np.median(told):.3f} of that time (median)" if told else ""
        measured += f"; reached at all in {len(told)}{some}"
    return measured, verdict


def _when_good(summary: Summary, box: Box) -> float | None:
    """When the optimised run first has 80% of the AOPC^20 that the unoptimised one ends with."""
    wanted = 0.8 * float(summary.final(box, UNOPTIMISED).mean())
    rows = summary.over_time(box, "optimised")
    return next((row["seconds"] for row in rows if row["aopc"] >= wanted), None)


def intro(summary: Summary) -> Answer:
    """Optimised G_pr beside sum and average."""
    told = []
    so = []
    for box in summary.boxes_with("unoptimised", "optimised"):
        ours = summary.over_time(box, "optimised")
        others = {n: summary.over_time(box, "unoptimised", n)[-1] for n in ("sq", "av")}
        better = all(ours[-1]["aopc"] >= other["aopc"] * (1 - TOLERANCE) for other in others.values())
        so.append((box, better and ours[-1]["seconds"] < others["sq"]["seconds"]))
        told.append((ours[-1]["aopc"], others["sq"]["aopc"]))
    measured, verdict = _counted(so, "optimised G_pr ends no lower than sum and average, in less time,")
    beside = f"; AOPC^20 {_of_sums(*zip(*told)):.2f} of the sum's, boxes summed" if told else ""
    return measured + beside, verdict


def spam_tables(summary: Summary) -> Answer:
    """Whether the spam tasks are there."""
    there = [task for task in ("toys", "home") if task in summary.tasks]
    if not there:
        return "the two Amazon spam sets are not to be had", UNTESTABLE
    return f"the tables have {' and '.join(there)}; the words are to be read", IN_PART
