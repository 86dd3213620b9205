"""The paper's claims: what it says, the rule that tests it here, where to look, and the reference's own figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anchorscope.reproduction import grid, rules
from anchorscope.reproduction.summary import Summary


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, the rule that tests it, the figure or table to look at, and the reference's own numbers.

    ``needs`` are the settings whose lists must have evidence in some box.
    """

    name: str
    says: str
    rule: str
    test: Callable[[Summary], rules.Answer]
    shown: str
    reference: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, what was measured, and the verdict."""

    claim: Claim
    measured: str
    verdict: str

    def row(self) -> dict[str, str]:
        """As a line of a table: the claim, what was measured in brief, the verdict, and all that was measured."""
        return {
            "claim": self.claim.name,
            "measured": self.measured.split(";")[0],
            "verdict": self.verdict,
            "in_full": self.measured,
        }


def judge_all(summary: Summary) -> list[Finding]:
    """Every claim with its verdict."""
    return [Finding(claim, *_judged(claim, summary)) for claim in CLAIMS]


def _judged(claim: Claim, summary: Summary) -> rules.Answer:
    there = [box for box in summary.boxes if all(len(summary.final(box, setting)) for setting in claim.needs)]
    fit = summary.boxes_with(*claim.needs)
    if claim.needs and there and not fit:
        return f"in none of {len(there)} boxes do the lists hold k words that were anchors", rules.TOO_SMALL
    measured, verdict = claim.test(summary)
    n_left_out = len(there) - len(fit)
    beside = f"; left out: {n_left_out} of {len(there)} boxes, without k words that were anchors" if n_left_out else ""
    return measured + beside, verdict


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "G_pr starts steepest",
        "G_pr consistently begins with the steepest curve.",
        "AOPC^5 of G_pr is the highest of G_pr, G_sq, G_h, G_av, G_av+5, or within 5% of it, in every box",
        rules.steepest,
        "aggregations",
        needs=("unoptimised",),
    ),
    Claim(
        "and stays above the baselines",
        "Its overall height exceeds the baselines.",
        "AOPC^20 of G_pr is above that of G_base and G_pr^-1 in every box",
        rules.above_baselines,
        "aggregations",
        "deberta corona +: G_pr .0685, G_base .0023, G_pr^-1 -.0093",
        needs=("unoptimised",),
    ),
    Claim(
        "G_av is inferior",
        "G_av is inferior to the rest.",
        "AOPC^20 of G_av is below that of G_pr, G_sq and G_h in every box",
        rules.average_inferior,
        "aggregations",
        "deberta corona +: G_av .0081, G_av+5 .0302",
        needs=("unoptimised",),
    ),
    Claim(
        "G_sq and G_h come close",
        "G_sq and G_h perform similarly to G_pr.",
        "AOPC^20 of both is within 20% of G_pr's in every box",
        rules.close,
        "aggregations",
        "deberta corona +: G_sq .0745, G_h .0431, G_pr .0685: 1.09 and .63 of it",
        needs=("unoptimised",),
    ),
    Claim(
        "Anchors appear mostly in one class",
        "Anchors commonly appear in at most one class.",
        "of the words that are anchors at all, more than half are anchors of one class only, for every task and model; "
        "a word that is an anchor once cannot be otherwise",
        rules.one_class,
        "aggregations",
    ),
    Claim(
        "Other document orders do as well",
        "Other orders than descending confidence gave similar results.",
        "mean AOPC^20 over the run is at least 0.9 of that in descending confidence",
        rules.orders,
        "settings",
        needs=grid.ORDERS,
    ),
    Claim(
        "Stop and rare words cost nothing",
        "Filtering them provides considerable acceleration for negligible loss of quality.",
        "AOPC^20 no lower (but for 5%) in every box",
        rules.stop_rare,
        "settings",
        "deberta: 45.2 to 23.4, 52.3 to 22.7, 56.9 to 28.9 minutes",
        needs=("unoptimised", "stop-rare"),
    ),
    Claim(
        "Raising delta costs no quality",
        "Increasing delta improves both the running time and quality of G_pr (an exception: dilemma +).",
        "AOPC^20 at delta 0.5 no lower than at 0.1 (but for 5%) in every box",
        rules.delta,
        "deltas",
        "deberta: 45.2 to 14.9, 52.3 to 16.7, 56.9 to 15.9 minutes",
        needs=("unoptimised", "delta-0.5"),
    ),
    Claim(
        "Each optimisation alone accelerates",
        "Each optimisation alone accelerates the computation.",
        "filter, tau-tilde and masking each take less time than stop-rare, for every task; each model and kind of "
        "fills by itself",
        rules.each_accelerates,
        "optimisations",
        "deberta corona: 28.9 minutes to 21.1, 13.5, 22.1",
        needs=("stop-rare", "filter", "tau-tilde", "masking"),
    ),
    Claim(
        "Tau-tilde costs most quality",
        "The confidence optimisation incurs the most significant reduction in quality.",
        "its mean AOPC^20 is the lowest of the three by more than 5% (in part: by less), each model and kind of fills "
        "by itself; not told apart where the mean difference is within a standard deviation of the boxes' differences",
        rules.tau_tilde,
        "optimisations",
        needs=("filter", "tau-tilde", "masking"),
    ),
    Claim(
        "Masking 50 improves quality",
        "The masking optimisation consistently improves the overall quality.",
        "AOPC^20 with 50 proposals no lower than with 500 (but for 5%) in every box",
        rules.masking,
        "optimisations",
        needs=("stop-rare", "masking"),
    ),
    Claim(
        "The filter saves 30 to 40%",
        "Candidate filtering accounts for 30 to 40% reduction of the running time.",
        "the share saved is between 25 and 45% for every task; each model and kind of fills by itself",
        rules.filter_saves,
        "settings",
        "deberta: 16, 25 and 27%; tinybert toys 36%",
        needs=("stop-rare", "filter"),
    ),
    Claim(
        "About 80% of terms shared",
        "The intersection with the terms of G_pr is generally around 80%.",
        "of each optimisation and delta, against the unoptimised run of its seed, the mean over boxes is between 0.7 "
        "and 0.9 (in part: of at least half of them)",
        rules.shared,
        "shared",
        needs=("unoptimised",),
    ),
    Claim(
        "Less on corona −",
        "Bigger drops in some cases, like in corona −.",
        "the mean share of corona − is below that of the other boxes by more than their standard deviation (within it: "
        "not told apart)",
        rules.less_on_corona,
        "shared",
        needs=("unoptimised",),
    ),
    Claim(
        "Run time linear in the length bound",
        "The runtime grows linearly with the bound on the length.",
        "seconds a document over the bound, at bounds of 100, 200 and 400, differ by at most a half, where documents "
        "are that long (in part: seconds over the documents' mean length do)",
        rules.linear_in_length,
        "lengths",
    ),
    Claim(
        "A top term drops accuracy by about half, its substitute by at most 8%",
        "Appending a sentence with a top term reduces accuracy by about 50%; with a similar word, by 0 to 8%.",
        "mean drop of the terms at least 40 points, and no substitute above 8, over the paper's own pairs, whether or "
        "not their terms are top terms here",
        rules.sentences,
        "accuracy_drop",
        "paper, corona: hand/nothing 44/2, support/back 62/1, crisis/situation 62/2, crude/nothing 57/7",
    ),
    Claim(
        "Up to 30x",
        "The computation is accelerated by up to 30 times.",
        "unoptimised over optimised time is at least 30 for some task and model (in part: 10)",
        rules.times_faster,
        "settings",
        "its own files: 9.0x, 9.7x, 10.2x (deberta), 13.3x (tinybert toys)",
        needs=("unoptimised", "optimised"),
    ),
    Claim(
        "Seconds instead of minutes",
        "Reducing the time from hours to minutes and seconds, by an anytime algorithm.",
        "the optimised run has 80% of the unoptimised run's final AOPC^20 within a tenth of its time, in every box",
        rules.seconds,
        "deltas",
        needs=("unoptimised", "optimised"),
    ),
    Claim(
        "Higher quality at a fraction of the time (Figure 1)",
        "After a few seconds the anytime algorithm outperforms mere sum and average.",
        "optimised G_pr ends no lower than sum and average (but for 5%), in less time, in every box",
        rules.intro,
        "intro",
        needs=("unoptimised", "optimised"),
    ),
    Claim(
        "Tables of the spam tasks",
        "Top terms of toy-spam and home-spam; sentences on toys drop accuracy by 32 to 60%.",
        "needs the two Amazon spam sets",
        rules.spam_tables,
        "top_terms",
    ),
)
