"""Claims: the verdict follows the records."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

from anchorscope.reproduction import claims, grid, records, rules
from anchorscope.reproduction.records import Key
from anchorscope.reproduction.summary import Summary


def altered(a_pass: Path, change) -> Summary:
    stored = copy.deepcopy(records.read(a_pass))
    for key, record in stored.items():
        if "with_evidence" in record:
            record["with_evidence"] = dict.fromkeys(record["terms"], 5)
        change(key, record)
    return Summary(stored)


def test_the_verdict_on_time_follows_the_times(a_pass: Path) -> None:
    def times(seconds: dict[str, float]):
        def change(key: Key, record: dict) -> None:
            record["made"]["perturbator"] = "embedded"
            if key.setting in seconds:
                record["seconds"] = seconds[key.setting]

        return change

    fast = {
        "unoptimised": 310.0,
        "optimised": 10.0,
        "stop-rare": 100.0,
        "filter": 65.0,
        "tau-tilde": 50.0,
        "masking": 90.0,
    }
    summary = altered(a_pass, times(fast))
    assert rules.times_faster(summary)[1] == rules.HOLDS and "31.0x" in rules.times_faster(summary)[0]
    assert rules.filter_saves(summary)[1] == rules.HOLDS and "35%" in rules.filter_saves(summary)[0]
    assert rules.each_accelerates(summary)[1] == rules.HOLDS
    slow = altered(a_pass, times({**fast, "unoptimised": 50.0, "filter": 110.0, "masking": 101.0}))
    assert rules.times_faster(slow)[1] == rules.FAILS
    assert rules.filter_saves(slow)[1] == rules.FAILS
    assert rules.each_accelerates(slow)[1] == rules.FAILS


def test_the_verdict_on_quality_follows_the_quality(a_pass: Path) -> None:
    def quality(values: dict[str, float]):
        def change(key: Key, record: dict) -> None:
            record["made"]["perturbator"] = "embedded"
            for label in record.get("terms", {}) if key.setting in values else ():
                record["moments"][-1]["labels"][label]["aopc"] = values[key.setting]

        return change

    good = altered(a_pass, quality({"unoptimised": 0.10, "delta-0.5": 0.097, "stop-rare": 0.1, "masking": 0.12}))
    assert rules.delta(good)[1] == rules.HOLDS and rules.masking(good)[1] == rules.HOLDS
    poor = altered(a_pass, quality({"unoptimised": 0.10, "delta-0.5": 0.06, "stop-rare": 0.1, "masking": 0.05}))
    assert rules.delta(poor)[1] == rules.FAILS and rules.masking(poor)[1] == rules.FAILS
    assert rules.masking(Summary(records.read(a_pass)))[1] == rules.UNTESTABLE, "mask-token proposes nothing"


def test_unlike_set_ups_are_judged_by_themselves(a_pass: Path) -> None:
    """With seed 42 the runs are made those of another model: its filter saves 30%, that of the first costs 20%."""
    stored = copy.deepcopy(records.read(a_pass))
    for key in [*stored]:
        record = stored[key]
        if "with_evidence" not in record:
            continue
        record["with_evidence"] = dict.fromkeys(record["terms"], 5)
        record["made"] = {**record["made"], "perturbator": "corpus"}
        record["seconds"] = 120.0 if key.setting == "filter" else 100.0
        if key.seed == 42:
            other = stored[replace(key, model="small-bert")] = stored.pop(key)
            other["made"] = {**other["made"], "perturbator": "embedded"}
            other["seconds"] = 70.0 if key.setting == "filter" else 100.0
    measured, verdict = rules.filter_saves(Summary(stored))
    assert "logistic-regression (corpus fills): saves -20% of the time" in measured
    assert "small-bert (embedded fills): saves 30% of the time" in measured
    assert verdict == "does not hold with logistic-regression (corpus fills), holds with small-bert (embedded fills)"
    alike = {key: {**record, "seconds": 100.0} for key, record in stored.items() if "with_evidence" in record}
    assert rules.filter_saves(Summary(alike))[1] == rules.FAILS, "verdicts that agree are one"


def test_a_difference_within_the_spread_of_the_boxes_is_not_told_apart(a_pass: Path) -> None:
    """Of two boxes tau-tilde costs .08 in one and nothing in the other: -.04 in the mean, sd .057; or .08 in both."""

    def tau(costs: dict[str, float]) -> Summary:
        def change(key: Key, record: dict) -> None:
            record["made"]["perturbator"] = "embedded"
            for label in record.get("terms", {}) if key.setting in ("filter", "tau-tilde", "masking") else ():
                cost = costs[label] if key.setting == "tau-tilde" else 0.0
                record["moments"][-1]["labels"][label]["aopc"] = 0.1 - cost

        return altered(a_pass, change)

    measured, verdict = rules.tau_tilde(tau({"negative": 0.08, "positive": 0.0}))
    assert verdict == rules.NOT_TOLD and "-0.0400, sd 0.0566, -0.0800 in corona negative" in measured
    assert rules.tau_tilde(tau({"negative": 0.08, "positive": 0.07}))[1] == rules.HOLDS
    assert rules.tau_tilde(tau({"negative": -0.01, "positive": -0.011}))[1] == rules.FAILS


def test_time_is_linear_in_the_bound_or_in_the_length_alone(a_pass: Path) -> None:
    """Bounds of 100, 200, 400: documents of 80, 140, 190 characters; seconds in proportion to one or the other."""

    def lasting(seconds: dict[int, float]) -> Summary:
        def change(key: Key, record: dict) -> None:
            bound = grid.LENGTHS.get(key.setting)
            if bound:
                record["characters"] = {100: 80.0, 200: 140.0, 400: 190.0}[bound]
                record["seconds"] = seconds[bound] * record["n_documents"]

        return altered(a_pass, change)

    assert rules.linear_in_length(lasting({100: 1.0, 200: 2.0, 400: 4.0}))[1] == rules.HOLDS
    measured, verdict = rules.linear_in_length(lasting({100: 0.8, 200: 1.4, 400: 1.9}))
    assert verdict == rules.IN_PART and "more slowly than linearly" in measured
    assert rules.linear_in_length(lasting({100: 1.0, 200: 1.0, 400: 1.0}))[1] == rules.FAILS


def test_pairs_with_a_top_term_are_named(a_pass: Path) -> None:
    """The model of the made data goes by "hand" and "crisis", of the paper's four."""
    measured, _ = rules.sentences(Summary(records.read(a_pass)))
    assert "of the 4 pairs have a word of our top ten: hand/nothing" in measured
    assert "the others: support/back" in measured


def test_lists_without_evidence_decide_nothing(a_pass: Path) -> None:
    """One of five words was an anchor: the others stand there in the order of the alphabet."""

    def padded(key: Key, record: dict) -> None:
        if "with_evidence" in record:
            record["with_evidence"] = dict.fromkeys(record["terms"], 1)

    findings = {finding.claim.name: finding for finding in claims.judge_all(altered(a_pass, padded))}
    for name in ("G_pr starts steepest", "Up to 30x", "About 80% of terms shared", "The filter saves 30 to 40%"):
        assert findings[name].verdict == rules.TOO_SMALL and "in none of 2 boxes" in findings[name].measured
    assert findings["Anchors appear mostly in one class"].verdict != rules.TOO_SMALL


def test_each_setting_has_to_share_80_percent_by_itself(a_pass: Path) -> None:
    """Of five terms one setting shares none, another all: 50% in the mean, and neither is around 80%."""
    given = {"unoptimised": "abcde", "stop-rare": "fghij", "delta-0.5": "abcde"}

    def with_terms(key: Key, record: dict) -> None:
        if "terms" in record:
            record["terms"] = {label: list(given.get(key.setting, "abcdf")) for label in record["terms"]}

    summary = altered(a_pass, with_terms)
    measured, verdict = rules.shared(summary)
    there = {key.setting for key in summary.records} & {*rules.SHARING}
    assert {"stop-rare", "delta-0.5"} < there
    assert measured.startswith("mean shares from 0.00 (stop-rare) to 1.00 (delta-0.5)")
    assert f"between 0.7 and 0.9 in {len(there) - 2} of {len(there)} settings" in measured
    assert verdict == rules.IN_PART


def test_seconds_are_those_to_the_unoptimised_quality(a_pass: Path) -> None:
    """The optimised run ends at half of the unoptimised AOPC: its own 80% is reached, the other's is not."""

    def worse(key: Key, record: dict) -> None:
        for moment in record.get("moments", ()):
            for one in moment["labels"].values():
                one["aopc"] = {"unoptimised": 0.10, "optimised": 0.05}.get(key.setting, one["aopc"])

    measured, verdict = rules.seconds(altered(a_pass, worse))
    assert verdict == rules.FAILS and "reached at all in 0" in measured


def test_without_records_nothing_is_claimed() -> None:
    empty = Summary({})
    for finding in claims.judge_all(empty):
        assert finding.verdict == rules.UNTESTABLE, finding.claim.name
