"""The rules that decide from the records whether a claim holds: each looks at a summary and says what it measured.

A rule looks at every box (task, model, class) that has the runs it needs. ``holds`` means in all boxes (or, where the
claim is about an average, on average), ``in part`` in at least half of them, ``does not hold`` in fewer. A box counts
only if the lists in question have evidence: k words that were anchors, and not the alphabet. Where no box has, the
claim is ``not testable at this size``; ``not testable here`` means that no record can tell. Differences in AOPC count
from 5% of the larger value (TOLERANCE) up. Where a claim is that one mean over boxes is below another, a difference
within a standard deviation of the boxes is ``not told apart``.

What an optimisation brings depends on what a sample costs, and so on the model and on what fills the gaps: claims about
it are judged for each such set-up by itself (``by_set_up``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from anchorscope.reproduction import grid
from anchorscope.reproduction.records import Key, Record
from anchorscope.reproduction.summary import UNOPTIMISED, Box, Row, Summary

TOLERANCE = 0.05

HOLDS = "holds"
IN_PART = "in part"
FAILS = "does not hold"
NOT_TOLD = "not told apart"
UNTESTABLE = "not testable here"
TOO_SMALL = "not testable at this size"

Answer = tuple[str, str]
"""What was measured, and the verdict."""


def _answer_by_count(outcomes: Sequence[tuple[Box, bool]], what: str) -> Answer:
    """In how many boxes something is so, where it is not, and the verdict."""
    if not outcomes:
        return "no run for it", UNTESTABLE
    yes = sum(so for _, so in outcomes)
    not_so = [_name(box) for box, so in outcomes if not so]
    where = f"; not in {', '.join(not_so[:6])}{' …' if len(not_so) > 6 else ''}" if not_so else ""
    verdict = HOLDS if yes == len(outcomes) else IN_PART if 2 * yes >= len(outcomes) else FAILS
    return f"{what} in {yes} of {len(outcomes)} boxes{where}", verdict


def by_set_up(rule: Callable[[Summary], Answer]) -> Callable[[Summary], Answer]:
    """The rule for each model and perturbator by itself: what was measured stands side by side, and so do verdicts
    that differ. What comes before a semicolon is told in brief."""

    def judged(summary: Summary) -> Answer:
        answers = {name: rule(part) for name, part in _set_ups(summary).items()}
        # A set-up that has no run for a claim says nothing about it; where none has, the rule says so of them all.
        answers = {name: answer for name, answer in answers.items() if answer[1] != UNTESTABLE}
        if len(answers) < 2:
            return next(iter(answers.values())) if answers else rule(summary)
        parts = {name: measured.partition("; ") for name, (measured, _) in answers.items()}
        brief = " · ".join(f"{name}: {first}" for name, (first, _, _) in parts.items())
        rest = " · ".join(f"{name}: {further}" for name, (_, _, further) in parts.items() if further)
        by_verdict: dict[str, list[str]] = {}
        for name, (_, verdict) in answers.items():
            by_verdict.setdefault(verdict, []).append(name)
        verdict = ", ".join(f"{verdict} with {' and '.join(names)}" for verdict, names in by_verdict.items())
        if len(by_verdict) == 1:
            verdict = next(iter(by_verdict))
        return f"{brief}; {rest}" if rest else brief, verdict

    return judged


def _set_ups(summary: Summary) -> dict[str, Summary]:
    """The records by model and perturbator."""
    parts: dict[str, dict[Key, Record]] = {}
    for key, run in sorted(summary.records.items(), key=lambda item: summary.models.index(item[0].model)):
        parts.setdefault(f"{key.model} ({run['made']['perturbator']} fills)", {})[key] = run
    return {name: Summary(some) for name, some in parts.items()}


def _apart(difference: float, boxes: Sequence[float]) -> bool:
    """Whether a difference is more than a standard deviation of the boxes; with one box there is none to ask for."""
    return len(boxes) < 2 or abs(difference) > float(np.std(boxes, ddof=1))


def _name(box: Box) -> str:
    return f"{box.task} {box.label} ({box.model})"


def _no_less(value: float, other: float) -> bool:
    """Whether a value is at least another, but for the tolerance."""
    return value >= other - TOLERANCE * max(abs(value), abs(other))


def _aopc(summary: Summary, box: Box, name: str, k: int = -1) -> float:
    """AOPC after k + 1 terms, or after all; the mean over seeds."""
    table = summary.curves(box, name)
    assert table is not None
    # (seeds, terms): a list may be shorter than k, and then its last value stands for what comes after it.
    return float(table[:, min(k, table.shape[1] - 1) if k >= 0 else -1].mean())


def steepest(summary: Summary) -> Answer:
    """G_pr leads after five terms."""
    outcomes = [
        (box, all(_no_less(_aopc(summary, box, "pr", 4), _aopc(summary, box, n, 4)) for n in ("sq", "h", "av", "av5")))
        for box in summary.boxes_with("unoptimised")
    ]
    return _answer_by_count(outcomes, "AOPC^5 of G_pr is the highest, or within 5% of it,")


def above_baselines(summary: Summary) -> Answer:
    """G_pr is above the baselines after twenty."""
    outcomes = [
        (box, all(_aopc(summary, box, "pr") > _aopc(summary, box, name) for name in ("base", "pr-inverse")))
        for box in summary.boxes_with("unoptimised")
    ]
    return _answer_by_count(outcomes, "AOPC^20 of G_pr is above G_base and G_pr^-1")


def average_inferior(summary: Summary) -> Answer:
    """G_av is the lowest."""
    outcomes = [
        (box, all(_aopc(summary, box, "av") < _aopc(summary, box, name) for name in ("pr", "sq", "h")))
        for box in summary.boxes_with("unoptimised")
    ]
    return _answer_by_count(outcomes, "AOPC^20 of G_av is below G_pr, G_sq and G_h")


def close(summary: Summary) -> Answer:
    """G_sq and G_h are near G_pr."""
    boxes = summary.boxes_with("unoptimised")
    found = {name: [_aopc(summary, box, name) for box in boxes] for name in ("pr", "sq", "h")}
    outcomes = [
        (box, all(abs(value - pr) <= 0.2 * abs(pr) for value in others))
        for box, pr, *others in zip(boxes, found["pr"], found["sq"], found["h"])
    ]
    measured, verdict = _answer_by_count(outcomes, "both within 20% of G_pr's AOPC^20")
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
        f"{words:.0%} of the words that are anchors at all, with {anchors:.0%} of all anchors; "
        f"least of the words: {low[1]:.0%}, {low[0]}"
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
    told = ", ".join(f"{setting.removeprefix('order-')} {ratio:.2f} times" for setting, ratio in ratios.items())
    low = min(ratios.values())
    return (
        f"mean AOPC^20 over the run {told} that of descending confidence; summed over the boxes; the final lists "
        "are the same",
        HOLDS if low >= 0.9 else IN_PART if low >= 0.75 else FAILS,
    )


def _against(summary: Summary, setting: str, base: str, claim: str) -> Answer:
    """AOPC^20 of a setting is no less than that of its base; on average over boxes."""
    boxes = summary.boxes_with(setting, base)
    if not boxes:
        return "no run for it", UNTESTABLE
    pairs = [(summary.final(box, setting).mean(), summary.final(box, base).mean()) for box in boxes]
    outcomes = [(box, _no_less(float(new), float(old))) for box, (new, old) in zip(boxes, pairs)]
    measured, _ = _answer_by_count(outcomes, claim)
    ratio = _of_sums([new for new, _ in pairs], [old for _, old in pairs])
    mean_holds = ratio >= 1 - TOLERANCE
    yes = sum(so for _, so in outcomes)
    # The claim is about quality on the whole: a mean that holds is worth as much as half of the boxes.
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


@by_set_up
def each_accelerates(summary: Summary) -> Answer:
    """Time with each optimisation alone; masking where there are proposals to choose from."""
    told = []
    beside = []
    faster = 0
    n = 0
    for setting, where in (("filter", summary), ("tau-tilde", summary), ("masking", _proposing(summary))):
        ratios = _ratios(where, setting, "stop-rare")
        if ratios:
            n_faster = sum(ratio < 1 for ratio in ratios)
            told.append(f"{setting} {np.mean(ratios):.2f} (faster in {n_faster} of {len(ratios)})")
            samples = _ratios(where, setting, "stop-rare", "samples")
            beside.append(f"{setting} {min(ratios):.2f} to {max(ratios):.2f}, samples {np.mean(samples):.2f}")
            faster += n_faster
            n += len(ratios)
    if not n:
        return "no run for it", UNTESTABLE
    verdict = HOLDS if faster == n else IN_PART if 2 * faster >= n else FAILS
    return f"faster in {faster} of {n} cases; time over stop-rare's {', '.join(told)}; {', '.join(beside)}", verdict


def _proposing(summary: Summary) -> Summary:
    """What was run with a perturbator that proposes words."""
    return Summary({k: run for k, run in summary.records.items() if run["made"]["perturbator"] != "mask-token"})


@by_set_up
def tau_tilde(summary: Summary) -> Answer:
    """Which optimisation has the lowest AOPC, where all three can act."""
    summary = _proposing(summary)
    boxes = summary.boxes_with("filter", "tau-tilde", "masking")
    if not boxes:
        return "no run for it", UNTESTABLE
    aopc = {s: [float(summary.final(box, s).mean()) for box in boxes] for s in ("filter", "tau-tilde", "masking")}
    means = {setting: float(np.mean(values)) for setting, values in aopc.items()}
    # "Costs most" is a claim about the next worst one: being below both is not enough if that is within the noise.
    rival = min(("filter", "masking"), key=lambda setting: means[setting])
    apart = [mine - other for mine, other in zip(aopc["tau-tilde"], aopc[rival])]
    difference = float(np.mean(apart))
    if not _apart(difference, apart):
        verdict = NOT_TOLD
    elif difference >= 0:
        verdict = FAILS
    else:
        verdict = IN_PART if _no_less(means["tau-tilde"], means[rival]) else HOLDS
    told = ", ".join(f"{setting} {mean:.4f}" for setting, mean in means.items())
    lowest = min(range(len(boxes)), key=lambda place: apart[place])
    spread = f", sd {np.std(apart, ddof=1):.4f}" if len(apart) > 1 else ""
    beside = f"tau-tilde minus {rival} {difference:+.4f}{spread}, {apart[lowest]:+.4f} in {_name(boxes[lowest])}"
    brief = f"mean AOPC^20 {means['tau-tilde']:.4f}, with {rival} {means[rival]:.4f}"
    return f"{brief}; {told} in {len(boxes)} boxes; {beside}", verdict


def masking(summary: Summary) -> Answer:
    """What 50 proposals instead of 500 cost."""
    proposing = _proposing(summary)
    if not proposing.records:
        return "the perturbator mask-token proposes nothing", UNTESTABLE
    return _against(proposing, "masking", "stop-rare", "AOPC^20 with 50 proposals no lower than with 500")


@by_set_up
def filter_saves(summary: Summary) -> Answer:
    """The share of time that the filter saves."""
    ratios = _ratios(summary, "filter", "stop-rare")
    if not ratios:
        return "no run for it", UNTESTABLE
    saved = [1 - ratio for ratio in ratios]
    # The paper says 30 to 40%; five points to either side count as that.
    inside = [0.25 <= share <= 0.45 for share in saved]
    verdict = HOLDS if all(inside) else IN_PART if 0.25 <= np.mean(saved) <= 0.45 or any(inside) else FAILS
    samples = 1 - np.mean(_ratios(summary, "filter", "stop-rare", "samples"))
    measured = f"saves {np.mean(saved):.0%} of the time, {samples:.0%} of the samples"
    return f"{measured}; of the time {min(saved):.0%} to {max(saved):.0%}", verdict


SHARING = (*grid.OPTIMISATIONS, *grid.DELTAS[1:5])
"""The settings whose terms are compared with those of the unoptimised run."""


def shared(summary: Summary) -> Answer:
    """Terms shared with the unoptimised run of the same seed, each setting by itself: a mean over all of them would say
    80% of one that shares nearly everything and one that shares half."""
    by_setting = {
        setting: [
            float(np.mean(summary.shared(box, setting)))
            for box in summary.boxes_with(UNOPTIMISED, setting)
            if summary.shared(box, setting)
        ]
        for setting in SHARING
    }
    if not any(by_setting.values()):
        return "no run for it", UNTESTABLE
    boxes = summary.boxes_with(UNOPTIMISED)
    overlaps = [overlap for box in boxes if (overlap := summary.seed_overlap(box)) is not None]
    told = ", ".join(f"{s} {np.mean(shares):.2f}" for s, shares in by_setting.items() if shares)
    narrow = [x for box in boxes for s in grid.OPTIMISATIONS[1:] for x in summary.shared(box, s, "stop-rare")]
    told += f"; the optimisations against stop-rare: {np.mean(narrow):.2f}" if narrow else ""
    beside = f"; two seeds of the unoptimised setting share {np.mean(overlaps):.2f}" if overlaps else ""
    # "About 80%": ten points to either side.
    means = {setting: float(np.mean(shares)) for setting, shares in by_setting.items() if shares}
    least, most = min(means, key=lambda s: means[s]), max(means, key=lambda s: means[s])
    around = sum(0.7 <= share <= 0.9 for share in means.values())
    verdict = HOLDS if around == len(means) else IN_PART if 2 * around >= len(means) else FAILS
    spread = f"from {means[least]:.2f} ({least}) to {means[most]:.2f} ({most})"
    return f"mean shares {spread}, between 0.7 and 0.9 in {around} of {len(means)} settings; {told}{beside}", verdict


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
    difference = float(np.mean(mine) - np.mean(others))
    lower = HOLDS if difference < 0 else FAILS
    verdict = lower if _apart(difference, others) else NOT_TOLD
    as_low = sum(share <= np.mean(mine) for share in others)
    spread = f"sd {np.std(others, ddof=1):.3f}, " if len(others) > 1 else ""
    told = f"corona negative {np.mean(mine):.3f}, the {len(others)} other boxes {np.mean(others):.3f}"
    return f"{told}; {spread}{as_low} of them as low or lower", verdict


def linear_in_length(summary: Summary) -> Answer:
    """Seconds a document, by the bound on its length, and by how long documents within it are."""
    told = []
    growth = []
    by_bound = []
    by_length = []
    for task, model in summary.pairs_with(*grid.LENGTHS):
        runs = {bound: summary.runs(task, model, setting) for setting, bound in grid.LENGTHS.items()}
        characters = {bound: float(np.mean([run["characters"] for run in some])) for bound, some in runs.items()}
        if characters[400] < 1.1 * characters[200]:  # no documents as long as that
            continue
        seconds = {b: float(np.mean([run["seconds"] / run["n_documents"] for run in some])) for b, some in runs.items()}
        shown = ", ".join(f"{bound}: {seconds[bound]:.4f} s for {characters[bound]:.0f} characters" for bound in runs)
        told.append(f"{task} ({model}) {shown}")
        growth.append((seconds[400] / seconds[100], characters[400] / characters[100]))
        by_bound.append(_alike([seconds[bound] / bound for bound in runs]))
        by_length.append(_alike([seconds[bound] / characters[bound] for bound in runs]))
    if not told:
        return "no task with documents of all lengths", UNTESTABLE
    verdict = HOLDS if all(by_bound) else IN_PART if any(by_bound) or all(by_length) else FAILS
    beside = ""
    if verdict == IN_PART and not any(by_bound):
        beside = "; time follows the documents' length, and with the bound grows more slowly than linearly"
    time, length = np.mean(growth, axis=0)
    brief = (
        f"from a bound of 100 to one of 400 time grows {time:.1f} times, and the documents' length {length:.1f} times"
    )
    return f"{brief}; mean time and length of a document by the bound: {', '.join(told)}{beside}", verdict


def _alike(rates: Sequence[float]) -> bool:
    return max(rates) <= 1.5 * min(rates)


def sentences(summary: Summary) -> Answer:
    """What a term and its substitute do to the accuracy; and which of the paper's terms are top terms here, too."""
    rows = [row for row in summary.sentence_rows() if row["task"] in ("corona", "toys") and not row["proposed"]]
    if not rows:
        return "no task with the paper's sentences", UNTESTABLE
    pairs = [*zip(rows[::2], rows[1::2])]  # a row with the top word, then one with its substitute
    firsts = [float(first["drop"]) for first, _ in pairs]
    others = [float(other["drop"]) for _, other in pairs]
    so = np.mean(firsts) >= 0.4 and max(others) <= 0.08
    part = np.mean(firsts) >= 0.3 and np.mean(others) <= 0.15
    top = [_drops(*pair) for pair in pairs if pair[0]["in_top_10"]]
    rest = [f"{_drops(*pair)} ({pair[0]['model']})" for pair in pairs if not pair[0]["in_top_10"]]
    unknown = sum(first["in_top_10"] is None for first, _ in pairs)
    measured = (
        f"over the paper's {len(pairs)} pairs {np.mean(firsts):.0%} on average, substitutes {np.mean(others):.0%}, at "
        f"most {max(others):.0%}; {len(top)} of the {len(pairs)} pairs have a word of our top "
        f"ten{': ' * bool(top)}{', '.join(top)}"
    )
    beside = f"; the others: {', '.join(rest)}" if rest else ""
    beside += f"; of {unknown} pairs no top ten is known, as the settings were not run" if unknown else ""
    return measured + beside, HOLDS if so else IN_PART if part else FAILS


def _drops(first: Row, other: Row) -> str:
    """A pair with what each of its alternatives costs."""
    return f"{first['alternative']}/{other['alternative'] or 'nothing'} {first['drop']:.0%}/{other['drop']:.0%}"


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
    return f"{min(told.values()):.1f}x to {most:.1f}x; {measured}; samples {samples:.1f}x fewer on average", verdict


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
    measured, verdict = _answer_by_count(so, "80% of the unoptimised AOPC^20 within a tenth of its time")
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
    measured, verdict = _answer_by_count(so, "optimised G_pr ends no lower than sum and average, in less time,")
    beside = f"; AOPC^20 {_of_sums(*zip(*told)):.2f} of the sum's, boxes summed" if told else ""
    return measured + beside, verdict


def spam_tables(summary: Summary) -> Answer:
    """Whether the spam tasks are there."""
    there = [task for task in ("toys", "home") if task in summary.tasks]
    if not there:
        return "the two Amazon spam sets are not to be had", UNTESTABLE
    return f"the tables have {' and '.join(there)}; the words are to be read", IN_PART
