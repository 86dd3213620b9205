"""The lists of words: where they end, scales, numbers and their names, other aggregations."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from review_run import drivers_first
from shown import KeepRun, attributes, shown

from anchorscope.cli import main
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.report.figures import figure, fixed, percent, signed
from anchorscope.report.lists import listed, standing
from anchorscope.report.page import write_report
from anchorscope.result import Result
from anchorscope.scoring.aggregations import AGGREGATIONS
from anchorscope.text.words import function_words


@pytest.fixture(scope="session")
def settled(keep_run: KeepRun) -> tuple[str, Result]:
    """A run that has come to its end: only then are the words against a class looked at for their own sake."""
    folder = keep_run("settled", rounds=99)
    return write_report(folder).as_uri(), Result.load(folder)


def test_the_words_are_those_of_the_result(open_page: Any, report: tuple[str, Result]) -> None:
    url, result = report
    watched = open_page(url)
    watched.shot("words-wide-light")
    for number, explanation in enumerate(result.explanations.values()):
        assert shown(watched, number) == [term.written for term in drivers_first(explanation)]
        assert shown(watched, number, "drivers") == [term.written for term in explanation.drivers]
        assert shown(watched, number, "against") == [term.written for term in explanation.against]
    assert watched.page.locator(".whisker:visible").count() >= 20
    facts = dict(zip(watched.texts(".about dt"), watched.texts(".about dd")))
    assert facts["documents"] == "700" and facts["strategy"] == "race" and facts["seed"] == "0"
    total, told = facts["model calls"].split(" = ")
    assert total == f"{result.cost.predictor_texts:,}"
    parts = [int(part.split()[0].replace(",", "")) for part in told.split(" + ")]
    assert parts[:2] == [700, result.cost.tests] and sum(parts) == result.cost.predictor_texts
    assert facts["method"] == "occlusion" and "perturbator" not in facts


def test_drivers_are_bold_in_scripts_that_have_one_weight(open_page: Any, report: tuple[str, Result]) -> None:
    """A browser makes bold letters of a font that has none (Hebrew's, here) from a weight of 600 on."""
    watched = open_page(report[0] + "#words?k=200")
    weight = "(selector) => Number(getComputedStyle(document.querySelector(selector)).fontWeight)"
    assert watched.page.evaluate(weight, ".drivers .term") >= 600
    assert watched.page.evaluate(weight, ".panel .rows.below .term") == 400


# --- where a list ends ---


def test_a_line_divides_drivers_from_the_rest(open_page: Any, report: tuple[str, Result]) -> None:
    """It stands between the two, and only where there is something below it; so does the list against the class."""
    url, result = report
    watched = open_page(url + "#words?k=200")
    dividers = watched.page.locator(".divider:visible").all_inner_texts()
    assert dividers.count("not shown to do more than any other term so far") == 2
    for number, (name, explanation) in enumerate(result.explanations.items()):
        bold = shown(watched, number, "drivers")
        assert bold[: len(explanation.drivers)] == [term.written for term in explanation.drivers]
        assert (f"against {name}" in dividers) == bool(explanation.against)
    few = open_page(url + "#words?k=1")
    assert few.page.locator(".divider:visible").all_inner_texts() == [
        f"against {name}" for name, explanation in result.explanations.items() if explanation.against
    ]


def test_a_class_without_documents_is_not_called_settled(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    watched.page.evaluate(
        "Object.assign(page.data.about.labels[0], { documents: 0, asked: 0, regret: 0, settled: true }); updateWords()"
    )
    assert watched.text('.panel[data-label="0"] .standing') == "no document that was asked about"
    assert "settled" in watched.text('.panel[data-label="1"] .standing')
    watched.page.evaluate("location.hash = '#curves'; draw()")
    assert re.fullmatch(r"[01] of 1 settled, 1 without documents", watched.text(".about .standing"))
    first = watched.page.evaluate("page.data.about.labels[0].name")
    assert first not in "".join(watched.page.locator(".key").all_inner_texts())


def test_a_regret_beyond_all_says_so(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    watched.page.evaluate("page.data.about.labels[0].regret = 1.3; updateWords()")
    assert "regret over 100%" in watched.text('.panel[data-label="0"] .standing')


def test_a_label_without_a_test_has_no_rows(open_page: Any, report: tuple[str, Result]) -> None:
    """As a scan that time was up for before its first test: its regret is unknown, and all counts are 0."""
    watched = open_page(report[0])
    kept = watched.page.evaluate(
        """(note) => {
            const counts = page.data.terms.labels[0];
            counts.anchors.fill(0);
            counts.non_anchors.fill(0);
            Object.assign(page.data.standings.total[0], { drivers: [], against: [], regret: null, note });
            const lists = listsOf("total", 0, 5);
            return [...lists.drivers, ...lists.below].length;
        }""",
        NOTE,
    )
    assert kept == 0


def test_what_lowers_a_class_is_not_listed_for_it(open_page: Any, report: tuple[str, Result]) -> None:
    """Of all terms many have a score below 0; those are listed against the class, or nowhere."""
    watched = open_page(report[0])
    n_lower, n_listed = watched.page.evaluate(
        """() => [entries("total", 0), listsOf("total", 0, 100000).below].map(
            (terms) => terms.filter((one) => one.score < 0).length)"""
    )
    assert n_lower > 0 and n_listed == 0


def test_the_line_says_a_budget_only_where_there_is_one(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    says = """([asked, tested, drawn]) => {
        Object.assign(page.data.about.labels[0], { asked, drawn });
        return notToldApart(0, [{ tested, occurrences: 5 }]);
    }"""
    told = [watched.page.evaluate(says, pair) for pair in ([700, 3], [700, 5], [9, 5], [9, 5, True])]
    assert [line.removeprefix("not shown to do more than any other term") for line in told] == [
        " so far",
        ", though everything is tested",
        " at this budget",
        " in the documents drawn",
    ]


def test_the_names_of_columns_stand_above_the_first_row(open_page: Any, report: tuple[str, Result]) -> None:
    """No word for the class is told apart, and some against it."""
    watched = open_page(report[0])
    watched.page.evaluate(
        "(note) => { Object.assign(page.data.standings.total[0], { drivers: [], note }); draw(); }", NOTE
    )
    panel = watched.page.locator('.panel[data-label="0"]')
    assert shown(watched, 0) == [] and shown(watched, 0, "against")
    heads, divider = (panel.locator(part).bounding_box()["y"] for part in (".heads", ".to-against"))
    assert heads > divider


# --- scales ---


def scaled(watched: Any, factor: float) -> tuple[str, str]:
    """The scale that is chosen where the scores of one class are so many times those of the other; and the legend."""
    watched.page.evaluate(
        """(factor) => {
            const [one, other] = page.data.terms.labels;
            one.scores.total = other.scores.total.map((score) => score * factor);
            draw();
        }""",
        factor,
    )
    return watched.page.get_by_label("Scale").input_value(), watched.text("#scales")


def test_classes_that_are_far_apart_have_scales_of_their_own(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    assert scaled(watched, 2.0)[0] == "same"
    scale, legend = scaled(watched, 100.0)
    assert scale == "own" and "each label has its own scale" in legend
    watched.page.get_by_label("Scale").select_option("same")
    assert watched.page.url.endswith("scale=same") and "own scale" not in watched.text("#scales")


def test_what_speaks_against_a_class_is_drawn_from_the_other_side(open_page: Any, settled: tuple[str, Result]) -> None:
    watched = open_page(settled[0])
    for number, sides in ((0, ("right", "left")), (1, ("left", "right"))):
        for part, side in zip(("drivers", "against"), sides):
            row = watched.page.locator(f'.panel[data-label="{number}"] .rows.{part} .row').first
            track, bar = (row.locator(name).bounding_box() for name in (".track", ".bar"))
            gap = {"left": bar["x"] - track["x"], "right": track["x"] + track["width"] - bar["x"] - bar["width"]}
            assert gap[side] == pytest.approx(0, abs=1)


def halves() -> list[float]:
    """Numbers of all sizes, most of them halfway between two that are shown, some a little to a side of that."""
    middles = [digits * 10.0**power for digits in (0.125, 2.345, 9.995, 1.005, 28.5, 3.0) for power in range(-7, 5)]
    aside = [value * (1 + step) for value in middles for step in (1e-7, -1e-7, 1e-13, -1e-13)]
    return [sign * value for value in (*middles, *aside, 0.0) for sign in (1, -1)]


def test_the_page_and_the_terminal_write_a_number_alike(open_page: Any, report: tuple[str, Result]) -> None:
    """Halves go away from zero in both, whatever they are in binary: 1.005 is 1.01."""
    watched = open_page(report[0])
    written = watched.page.evaluate(
        "(all) => all.map((x) => [number(x), fixed(x, 3), signed(x, 2), percent(x), percent(x, 1)])",
        [float(f"{value:.9g}") for value in halves()],
    )
    for value, of_page in zip(halves(), written):
        told = [figure(value), fixed(value, 3), signed(value, 2), percent(value), percent(value, 1)]
        assert of_page == [text.replace("-", "−", 1) if text.startswith("-") else text for text in told], value
    assert watched.page.evaluate("[1.005, 3.25, 20, -2.5].map(number)") == ["1.01", "3.25", "20.0", "−2.50"]


def test_the_rows_of_the_page_have_the_numbers_of_the_terminal(open_page: Any, settled: tuple[str, Result]) -> None:
    """Scores, memberships and the regret of a label, to the last digit."""
    url, result = settled
    watched = open_page(url)
    for number, explanation in enumerate(result.explanations.values()):
        panel = f'.panel[data-label="{number}"]'
        rows = [*drivers_first(explanation), *explanation.against]
        scores = [figure(term.score).replace("-", "−") for term in rows]
        assert watched.texts(f"{panel} .rows .score") == scores
        members = [percent(term.membership) for term in drivers_first(explanation)]
        assert watched.texts(f"{panel} .rows:not(.against) .member") == members
        assert watched.text(f"{panel} .standing") == " · ".join(standing(explanation))


def test_a_whisker_that_goes_on_has_no_end(open_page: Any, settled: tuple[str, Result]) -> None:
    """Beyond 0 it leaves its track and has no stroke there; so it does where the scale ends before it."""
    watched = open_page(settled[0])
    strokes = """([part, low, high]) => {
        const row = document.querySelector(`.panel[data-label="1"] .rows.${part} .row`);
        const sign = part === "against" ? -1 : 1;
        const entry = { ...listsOf("total", 1, 10)[part][0], low: low * sign, high: high * sign };
        if (sign < 0) [entry.low, entry.high] = [entry.high, entry.low];
        updateRow(row, entry, part, 1, 10, 0);
        const [whisker, track] = [row.querySelector(".whisker"), row.querySelector(".track")];
        const { borderLeftWidth: left, borderRightWidth: right } = getComputedStyle(whisker);
        const [inner, outer] = [whisker.getBoundingClientRect(), track.getBoundingClientRect()];
        const isOut = inner.left < outer.left - 3 || inner.right > outer.right + 3;
        return [left !== "0px", right !== "0px", isOut];
    }"""
    watched.page.emulate_media(reduced_motion="reduce")
    assert watched.page.evaluate(strokes, ["drivers", 1, 5]) == [True, True, False]
    assert watched.page.evaluate(strokes, ["drivers", -1, 5]) == [False, True, True]
    assert watched.page.evaluate(strokes, ["drivers", 1, 15]) == [True, False, False]
    assert watched.page.evaluate(strokes, ["against", 1, 5]) == [True, True, False]
    assert watched.page.evaluate(strokes, ["against", -1, 5]) == [True, False, True]


def test_an_aggregation_without_a_standing_claims_none(open_page: Any, report: tuple[str, Result]) -> None:
    """Of excess a race knows no intervals: nothing is drawn, told or explained of them."""
    watched = open_page(report[0] + "#words?by=excess")
    assert len(shown(watched, 0)) == 10 and watched.page.locator(".whisker:visible").count() == 0
    assert set(watched.texts(".names dt")) == {"#", "effect", "score", "tested/of", "limits", "bar"}
    assert not any("interval" in title for title in attributes(watched, ".rows .term", "title"))
    assert not {"regret", "settled"} & {*watched.text(".panel .standing").split()}


def test_what_speaks_against_one_of_several_labels_is_not_grey(open_page: Any, settled: tuple[str, Result]) -> None:
    """Grey is what is not told apart."""
    watched = open_page(settled[0] + "#words?k=40")
    watched.page.evaluate("page.data.about.labels.push({ ...page.data.about.labels[0], explained: false }); draw()")
    colours = [
        watched.page.locator(f".rows.{part} .bar").first.evaluate("(e) => getComputedStyle(e).backgroundColor")
        for part in ("drivers", "below", "against")
    ]
    assert len({*colours}) == 3
    assert "bars from the far edge: lowers the label" in watched.text("#scales")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_headings_have_contrast_enough(open_page: Any, report: tuple[str, Result], dark: bool) -> None:
    """WCAG's 4.5 for every colour of a label, and for what speaks against one."""
    watched = open_page(report[0], dark=dark)
    ratios = watched.page.evaluate(
        """[..."012345"].map((n) => `--c${n}`).concat("--against", "--soft").map((name) => {
            const style = getComputedStyle(document.documentElement);
            const luminance = (hex) => [1, 3, 5]
                .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
                .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
                .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
            const [a, b] = [name, "--paper"].map((one) => luminance(style.getPropertyValue(one).trim()) + 0.05);
            return Math.max(a, b) / Math.min(a, b);
        })"""
    )
    assert len(ratios) == 8 and min(ratios) >= 4.5


def test_what_a_narrow_window_hides_is_not_explained_there(open_page: Any, report: tuple[str, Result]) -> None:
    narrow, wide = (open_page(report[0], width=width) for width in (400, 1600))
    assert "tested/of" in wide.texts(".names dt:visible") and "tested/of" not in narrow.texts(".names dt:visible")


def test_numbers_are_not_broken_in_a_narrow_window(open_page: Any, report: tuple[str, Result]) -> None:
    """Of three labels a decision takes many words: it is broken between them, and no number is."""
    watched = open_page(report[0], width=400)
    watched.page.evaluate("page.data.about.labels.push({ ...page.data.about.labels[0], explained: false })")
    watched.page.evaluate("page.data.documents[0].confidence = 0.45 + page.data.documents[0].words[0][3]")
    watched.page.evaluate("location.hash = `documents?key=${page.data.documents[0].key}`")
    watched.page.wait_for_selector("table.words")
    cells = watched.page.locator("table.words td:nth-child(2)")
    lines = """(cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects().length;
    }"""
    assert {cell.evaluate(lines) for cell in cells.all()} == {1}


def test_one_word_for_an_idea(open_page: Any, report: tuple[str, Result]) -> None:
    """What a model says is a label, and never a class; what is ranked and tested is a term."""
    watched = open_page(report[0])
    for view in ["words", "documents", "curves", "table", "term?label=negative&term=too"]:
        watched.page.evaluate(f"location.hash = {json.dumps(view)}")
        watched.page.wait_for_timeout(60)
        chrome = """() => {
            const copy = document.querySelector("main").cloneNode(true);
            for (const text of copy.querySelectorAll(".text, bdi, .rows, tbody th")) text.remove();
            return copy.innerText;
        }"""
        told = watched.page.evaluate(chrome).lower().replace("function words", "").replace("other words", "")
        assert not re.search(r"\bclass(es)?\b|\bwords?\b", told), view
    assert watched.text("#tabs a") == "Top terms"


def test_the_number_of_a_row_is_named(open_page: Any, report: tuple[str, Result]) -> None:
    """Of drivers some numbers may be missing: they are places by score, and those stand below the line."""
    assert open_page(report[0]).texts(".heads .rank") == ["# by score", "# by score"]


def test_memberships_are_of_the_list_of_the_run(open_page: Any, report: tuple[str, Result]) -> None:
    told = "the probability to be among the top 10 terms of the label"
    assert told in open_page(report[0]).texts(".legend dd")
    longer = f"{told}: the list that the run was made for; 30 are looked at here"
    assert longer in open_page(report[0] + "#words?k=30").texts(".legend dd")


def test_one_more_class_is_named_and_not_counted(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    add = "(name) => { page.data.about.labels.push({ ...page.data.about.labels[0], name }); header(); }"
    for name in ("c", "d", "e"):
        watched.page.evaluate(add, name)
    assert watched.text("h1").endswith("say negative, positive, c, d or e?")
    watched.page.evaluate(add, "f")
    assert watched.text("h1").endswith("say negative, positive, c, d or 2 others?")


def test_no_view_is_cut_off_in_a_narrow_window(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0], width=400)
    assert all(
        tab.bounding_box()["x"] + tab.bounding_box()["width"] <= 400 for tab in watched.page.locator("#tabs a").all()
    )


def test_of_all_terms_only_drivers_are_bold(open_page: Any, settled: tuple[str, Result]) -> None:
    """Those against a class have ranks of their own."""
    url, result = settled
    watched = open_page(url + "#table?label=negative&sort=score&way=up")
    first = watched.texts(".terms tbody tr:first-child > *")
    assert first[0] == "against 1" and first[1] == result["negative"].against[0].written
    rows = watched.page.evaluate(
        """[...document.querySelectorAll(".terms tbody tr")].map((row) => [
            Number(getComputedStyle(row.querySelector("th")).fontWeight) > 400,
            row.querySelector(".is-driver").textContent !== "",
        ])"""
    )
    assert all(is_bold == is_driver for is_bold, is_driver in rows)
    assert {is_driver for _, is_driver in rows} == {True, False}


def test_a_term_says_how_its_score_follows_from_its_tests(open_page: Any, report: tuple[str, Result]) -> None:
    url, result = report
    best = next(term for term in result["positive"].terms if 1 < term.tested < term.occurrences)
    watched = open_page(f"{url}#term?label=positive&term={best.term}")
    lead = watched.text(".lead")
    assert f" on average in {best.tested} documents; in all {best.occurrences} that would be " in lead
    assert f" in the untested ones: estimate {figure(best.score)} (90%: " in lead
    assert "Any term taken out of such documents does about " in lead
    titles = watched.page.evaluate("[...document.querySelectorAll('.figures thead a')].map((link) => link.title)")
    assert len(titles) == 3 and all(titles)


FOLLOWS = """([effects, score, tested, occurrences, silent]) => {
    const label = page.data.terms.labels[0];
    Object.assign(label, { effects: [effects], silent: silent ? [0] : [] });
    return howItFollows(0, { number: 0, score, tested, occurrences, low: score - 1, high: score + 1 });
}"""


@pytest.mark.parametrize(
    ("effects", "score", "told"),
    [
        (
            1.455,
            62.5,
            "Tests: +0.291 on average in 5 documents; in all 255 that would be 74.2. The model’s predictions ",
        ),
        (1.455, 62.5, "predictions suggest less in the untested ones: estimate 62.5 (90%: 61.5 to 63.5)."),
        (1.0, 62.5, "predictions suggest more in the untested ones: estimate 62.5 (90%: 61.5 to 63.5)."),
        (
            -1.455,
            -62.5,
            "that would be −74.2. The model’s predictions suggest less in the untested ones: estimate −62.5 (",
        ),
        (-1.0, 62.5, "that would be −51.0. The model’s predictions suggest otherwise in the untested ones: estimate"),
        (1.2255, 62.5, "Tests: +0.245 on average in 5 documents; in all 255 that would be 62.5 (90%: 61.5 to 63.5)."),
        (
            0.0,
            62.5,
            "All 5 tests found exactly 0; the estimate of 62.5 (90%: 61.5 to 63.5) is only what the predictions",
        ),
    ],
)
def test_how_a_score_follows_from_tests_and_predictions(
    open_page: Any, report: tuple[str, Result], effects: float, score: float, told: str
) -> None:
    """Five tests of 255 documents: what they would come to, and what the predictions make of it."""
    watched = open_page(report[0])
    assert told in watched.page.evaluate(FOLLOWS, [effects, score, 5, 255, effects == 0])


COMPARED = """([tested, mean, isInDoubt]) => {
    Object.assign(page.data.terms.labels[0], { usual: [0.01], effects: [mean * tested] });
    return comparedToAny(0, { number: 0, tested }, isInDoubt);
}"""


@pytest.mark.parametrize(
    ("tested", "mean", "in_doubt", "told"),
    [
        (5, 0.4, False, "; this one +0.400."),
        (1, 0.4, True, "; this one +0.400, but one test is too few to be sure."),
        (5, 0.4, True, "; this one +0.400, but its tests are too few, or differ too much, to be sure."),
        (5, 0.011, True, "; this one +0.011."),
        (1, -0.4, True, "; this one −0.400."),
    ],
)
def test_a_term_that_did_more_than_any_other_and_is_no_driver_is_told_why(
    open_page: Any, report: tuple[str, Result], tested: int, mean: float, in_doubt: bool, told: str
) -> None:
    watched = open_page(report[0])
    assert watched.page.evaluate(COMPARED, [tested, mean, in_doubt]).endswith(told)


def test_a_term_that_lowers_a_class_is_in_no_list_for_it(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    told = watched.page.evaluate(
        """() => {
            const { against } = standingOf("total", 0);
            const lower = entries("total", 0).find((one) => one.score < 0 && !against.includes(one.number));
            return whereItStands(0, lower.number).flat().map(String).join("");
        }"""
    )
    assert ": in no list, as its score is below 0. " in told


def test_a_term_that_is_tested_everywhere_has_their_sum(open_page: Any, report: tuple[str, Result]) -> None:
    told = open_page(report[0]).page.evaluate(FOLLOWS, [0.5, 0.5, 1, 1, False])
    assert told.startswith("Test: +0.500 in 1 document, all that there are: together 0.500")


NOTE = "No term is shown to do more than any other for 'negative' after 90 tests."


def test_a_class_without_drivers_shows_its_note(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    watched.page.evaluate(
        "(note) => { Object.assign(page.data.standings.total[0], { drivers: [], against: [], note }); draw(); }", NOTE
    )
    assert shown(watched, 0, "drivers below against") == [] and shown(watched, 1)
    panel = watched.page.locator('.panel[data-label="0"]')
    assert panel.locator(".note").inner_text() == NOTE
    assert panel.locator(".divider:visible").count() == 0
    # The regret is that of a list, so it is said of the other class alone.
    assert "regret" not in panel.locator(".standing").inner_text() and "member" in watched.texts(".names dt")
    assert "regret" in watched.text('.panel[data-label="1"] .standing')


def test_where_nothing_is_listed_no_column_is_explained(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    assert watched.text(".lead").startswith("Terms by their score, the sum of a term's effects over its ")
    watched.page.evaluate(
        """(note) => {
            for (const one of page.data.standings.total) Object.assign(one, { drivers: [], against: [], note });
            draw();
        }""",
        NOTE,
    )
    assert watched.texts(".names dt:visible") == ["effect", "driver", "settled", "limits"]
    assert watched.text(".lead") == ""


def test_of_three_classes_what_the_numbers_are_stands_beside_the_last(
    open_page: Any, report: tuple[str, Result]
) -> None:
    watched = open_page(report[0])
    watched.page.evaluate(
        """() => {
            const { about, standings, terms } = page.data;
            about.labels.push({ ...about.labels[1], name: "third" });
            terms.labels.push(terms.labels[1]);
            for (const one of Object.values(standings)) one.push(one[1]);
            draw();
        }"""
    )
    last, names = (watched.page.locator(part).last.bounding_box() for part in (".panel", ".names"))
    assert names["x"] > last["x"] + last["width"] and names["y"] == last["y"] and names["height"] < last["height"]
    assert "null" not in watched.text("main")


def test_a_baseline_that_reads_no_test_names_no_drivers(open_page: Any, report: tuple[str, Result]) -> None:
    """Its list stands under a note, without a line; on the page of a term it tells nothing apart."""
    watched = open_page(report[0] + "#words?by=base")
    assert not shown(watched, 0, "drivers against") and len(shown(watched, 0, "below")) == 10
    told = "A baseline that counts documents: it reads no test, so nothing is told apart."
    assert watched.texts(".note:visible") == [told, told]
    assert watched.page.locator(".divider:visible").count() == 0
    watched.page.locator(".rows.below .term").first.click()
    watched.page.wait_for_selector(".figures")
    assert watched.text("main .lead").endswith(told)
    place = watched.texts(".figures thead a").index("base")
    assert watched.texts(".figures tbody tr:last-child td")[-len(watched.texts(".figures thead a")) :][place] == "–"


def test_function_words_are_hidden_by_a_view_and_named(open_page: Any, report: tuple[str, Result]) -> None:
    """No rank changes, and every hidden word is in the line with its rank."""
    url, result = report
    watched = open_page(url)
    watched.page.get_by_label("Function words").select_option("hidden")
    assert watched.page.url.endswith("hide=1")
    watched.shot("words-hidden")
    words = function_words()
    for number, explanation in enumerate(result.explanations.values()):
        rank_of = {term.term: str(rank) for rank, term in enumerate(explanation.terms, start=1)}
        ranks = [(rank_of[term.term], term) for term in drivers_first(explanation)]
        panel = f'.panel[data-label="{number}"]'
        found = [*zip(watched.texts(f"{panel} .rows:not(.against) .row .rank"), shown(watched, number))]
        assert found == [(rank, term.written) for rank, term in ranks if term.term not in words]
        told = watched.text(f"{panel} .hiding")
        hidden = listed(explanation, words).hidden
        assert hidden and told.startswith(hidden.split("; against: ")[0])
        assert all(f"{t.written} (" in told.split("against: ")[1] for t in explanation.against if t.term in words)
    watched.page.get_by_label("Function words").select_option("shown")
    assert shown(watched, 0) == [term.written for term in drivers_first(result["negative"])]
    assert watched.page.locator(".hiding:visible").count() == 0


def test_every_number_has_its_name_and_explanation(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    names = dict(zip(watched.texts(".names dt"), watched.texts(".names dd")))
    assert "top 10" in names["member"] and {"score", "interval", "driver", "regret", "settled"} <= names.keys()
    assert watched.page.locator(".heads .member").first.get_attribute("title") == names["member"]
    watched.page.evaluate("location.hash = 'table'")
    watched.page.wait_for_selector("th.is-membership")
    assert watched.page.locator("th.is-membership").get_attribute("title") == names["member"]
    assert watched.page.locator("th.is-anchors").count() == 0


SCAN = {"strategy": "scan", "aggregation": "pr", "score": "anchor", "n": 60, "rounds": 99}

KINDS: dict[str, dict[str, Any]] = {"one": {}, "banzhaf": {"by": "banzhaf"}, "scan": SCAN}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_has_the_scores_and_the_order_of_the_library(
    open_page: Any, keep_run: KeepRun, kind: str, tmp_path: Path
) -> None:
    """Scores and order of all terms, under all aggregations that the run can feed, for both labels."""
    folder = keep_run(kind, **KINDS[kind])
    watched = open_page(write_report(folder, out=tmp_path / "report.html").as_uri())
    with closing(RunReader(folder)) as reader:
        standings = Standings(reader, alpha=0.5, k=10)
        assert watched.page.evaluate("page.data.terms.term") == list(reader.terms)
        for one in map(AGGREGATIONS.__getitem__, offered(watched)):
            expected = standings.scores(one)
            for label in range(2):
                found = watched.page.evaluate(f"scoresOf(page.data.terms, '{one.name}', {label})")
                np.testing.assert_allclose(found, expected[label], rtol=1e-8)
                order = watched.page.evaluate(f"entries('{one.name}', {label}).map((entry) => entry.number)")
                assert order == standings.ranking(one, label).tolist()


def offered(watched: Any) -> list[str]:
    return watched.page.evaluate("page.data.terms.aggregations.map((one) => one.name)")


def test_aggregations_that_count_anchors_are_offered_where_some_were_tested(
    open_page: Any, report: tuple[str, Result], perturbed: tuple[str, Result], anchors: tuple[str, Result]
) -> None:
    effects = {name for name, one in AGGREGATIONS.items() if one.reads != "verdicts"}
    for graded in (report, perturbed):
        assert set(offered(open_page(graded[0]))) == effects
    assert set(offered(open_page(anchors[0]))) == {*AGGREGATIONS} - {"total", "excess"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_shows_the_lists_of_top(
    open_page: Any, keep_run: KeepRun, kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Whatever the words are ranked by."""
    folder = keep_run(kind, **KINDS[kind])
    watched = open_page(write_report(folder, out=tmp_path / "report.html").as_uri())
    for name in offered(watched):
        watched.page.get_by_label("Ranked by").select_option(name)
        assert main(["top", str(folder), "--aggregation", name, "--format", "json"]) == 0
        top = json.loads(capsys.readouterr().out)["terms"]
        for number, label in enumerate(("negative", "positive")):
            rows = [term for term in top if term["label"] == label]
            # By score in a file; on the page drivers stand above the line, the others below it.
            listed = [term for term in rows if term["side"] == "for"]
            listed.sort(key=lambda term: not term["driver"])
            assert shown(watched, number) == [term["written"] for term in listed]
            assert shown(watched, number, "against") == [t["written"] for t in rows if t["side"] == "against"]


@pytest.mark.parametrize("name", ["excess", "pr-inverse"])
def test_a_run_by_any_aggregation_is_shown_as_it_is(
    open_page: Any, keep_run: KeepRun, name: str, tmp_path: Path
) -> None:
    """Its scores come with the page, so that the list is that of the result; the others can still be chosen."""
    score, other = ("banzhaf", "total") if AGGREGATIONS[name].is_graded else ("anchor", "sq")
    folder = keep_run(name, strategy="scan", aggregation=name, score=score)
    watched = open_page(write_report(folder, out=tmp_path / "report.html").as_uri())
    terms = next(iter(Result.load(folder).explanations.values())).terms
    # Drivers stand above the line.
    expected = [term.written for term in sorted(terms, key=lambda term: not term.driver)]
    assert shown(watched, 0)[: len(expected)] == expected
    assert watched.page.get_by_label("Ranked by").input_value() == name
    watched.page.get_by_label("Ranked by").select_option(other)
    assert watched.page.url.endswith(f"#words?by={other}")


def test_another_aggregation_ranks_anew_and_has_its_own_address(open_page: Any, anchors: tuple[str, Result]) -> None:
    watched = open_page(anchors[0])
    before = shown(watched, 0)
    watched.page.get_by_label("Ranked by").select_option("pr")
    assert shown(watched, 0) != before
    assert watched.page.url.endswith("#words?by=pr")
    after = shown(watched, 0)
    again = open_page(watched.page.url)
    assert shown(again, 0) == after
    assert "×10" in again.text(".heads .score")


def test_words_against_a_class_and_the_number_of_terms(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0] + "#words?k=5")
    assert len(shown(watched, 0)) == 5 and 0 < len(shown(watched, 0, "against")) <= 5
    assert all(score.startswith("−") for score in watched.texts(".rows.against .score"))
    assert not any(watched.texts(".rows.against .member"))


def test_arrow_keys_walk_through_the_terms(open_page: Any, report: tuple[str, Result]) -> None:
    watched = open_page(report[0])
    watched.page.locator('.panel[data-label="0"] .term').first.focus()
    watched.page.keyboard.press("ArrowDown")
    watched.page.keyboard.press("ArrowRight")
    focused = watched.page.evaluate("document.activeElement.innerText")
    assert focused == shown(watched, 1)[1]
    watched.page.keyboard.press("Enter")
    watched.page.wait_for_selector(".termhead")
    watched.page.keyboard.press("Escape")
    watched.page.wait_for_selector(".panel")


def test_rows_keep_their_places_while_intervals_overlap(open_page: Any, report: tuple[str, Result]) -> None:
    """b overtakes a but their intervals overlap: the rows stay. c is surely better than both: it moves up."""
    watched = open_page(report[0])
    rows = """(entries) => keepRows(["a", "b", "c"], entries.map(([term, low, high], i) =>
        ({ term, low, high, score: (low + high) / 2, rank: i + 1 }))).map((entry) => entry.term)"""
    assert watched.page.evaluate(rows, [["b", 3, 6], ["a", 2, 5], ["c", 1, 4]]) == ["a", "b", "c"]
    assert watched.page.evaluate(rows, [["c", 7, 9], ["b", 3, 6], ["a", 2, 5]]) == ["c", "a", "b"]
    assert watched.page.evaluate(rows, [["b", 5, 6], ["d", 4, 6], ["a", 1, 2]]) == ["b", "d", "a"]
    against = rows.replace("keepRows(", 'inPlace("against", ')
    assert watched.page.evaluate(against, [["b", -6, -3], ["a", -5, -2], ["c", -4, -1]]) == ["a", "b", "c"]
    assert watched.page.evaluate(against, [["c", -9, -7], ["b", -6, -3], ["a", -5, -2]]) == ["c", "a", "b"]
