"""The tables of a run: layout, hostile texts, live and plain progress."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from golden import FOLDER, assert_golden
from rich.console import Console

from anchorscope.asking.budget import Budget
from anchorscope.local import LocalExplanation, LocalWord
from anchorscope.report import flat, page, terminal
from anchorscope.report.lists import NOT_TOLD_APART
from anchorscope.report.local import local_table
from anchorscope.report.names import explained_names
from anchorscope.report.table import explanations_table, names_lines, safe
from anchorscope.report.terminal import LiveTable, Pace, ProgressLines
from anchorscope.settings import preset
from anchorscope.text.words import function_words
from anchorscope.types import Cost, Explanation, Snapshot, Term

HOSTILE = "a\x1b[31m\u202e[bold]\n\tb"


def term(
    word: str,
    score: float,
    *,
    reach: float = 0.0,
    membership: float | None = None,
    driver: bool = True,
    anchors: int | None = 30,
) -> Term:
    return Term(
        term=word.lower(),
        written=word,
        score=score,
        interval=(score - reach, score + reach),
        membership=membership,
        driver=driver,
        tested=40,
        anchors=anchors,
        skipped=0,
        occurrences=60,
    )


def explanation(label: str, *terms: Term, **more: object) -> Explanation:
    values = {
        "documents": 2158,
        "asked": 2158,
        "robust": None,
        "robust_of": 0,
        "settled": False,
        "regret": None,
        **more,
    }
    return Explanation(label=label, terms=terms, **values)  # type: ignore[arg-type]


def two_labels() -> dict[str, Explanation]:
    """Anchors of a scan, and effects of a race: drivers, the other terms, and what speaks against the label."""
    negative = explanation(
        *("negative", term("too", 23.2, reach=4), term("bad", 17.2, reach=2), term("no", 1.0, driver=False)),
        robust=12,
        robust_of=300,
    )
    positive = explanation(
        "positive",
        term("太好", 8.06, reach=0.5, membership=0.99),
        term("iPhone", 5.99, reach=0.5, membership=0.5),
        term("🎉", 0.2, reach=0.5, membership=0.1, driver=False),
        asked=400,
        settled=True,
        regret=0.047,
        against=(term("dull", -4.2, reach=0.5, membership=0.0),),
    )
    return {"negative": negative, "positive": positive}


def snapshot(explanations: dict[str, Explanation], *, tests: int = 100, planned: int = 300) -> Snapshot:
    cost = Cost(seconds=2.0, tests=tests, predictor_texts=4000)
    return Snapshot(explanations, 1, planned, False, 1.0, cost)


@pytest.mark.parametrize("width", [50, 80, 160])
def test_table_is_as_golden(width: int) -> None:
    assert_golden(FOLDER / f"table_{width}.txt", explanations_table(two_labels(), width).plain + "\n")


@pytest.mark.parametrize("width", [40, 72, 80, 146, 147, 160, 300])
def test_no_line_is_wider_than_the_table(width: int) -> None:
    lines = explanations_table(two_labels(), width).split("\n")
    assert max(line.cell_len for line in lines) <= width


def test_certain_scores_need_no_interval() -> None:
    table = explanations_table({"a": explanation("a", term("too", 2.0))}, 80).plain
    assert "interval" not in table and "member" not in table


def test_without_anchor_tests_the_counts_are_those_of_tests() -> None:
    header, row = explanations_table({"a": explanation("a", term("x", 2.0, anchors=None))}, 80).plain.splitlines()[1:]
    assert header.split()[-1] == "tested/of" and row.split()[-1] == "40/60"


def test_interval_that_is_not_known_says_so() -> None:
    odd = replace(term("too", 2.0), interval=(float("-inf"), float("inf")))
    assert "unknown" in explanations_table({"a": explanation("a", odd)}, 80).plain


def test_hostile_term_and_label_are_shown_as_text() -> None:
    """Nothing of it reaches the terminal but visible characters; [bold] is no markup."""
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=80)
    console.print(explanations_table({HOSTILE: explanation(HOSTILE, term(HOSTILE, 1.0))}, 80))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[31m" not in shown and "\u202e" not in shown and shown.count("[bold]") == 2
    assert len(shown.splitlines()) == 3


def test_endless_combining_marks_are_cut() -> None:
    table = explanations_table({"a": explanation("a", term("e" + "\u0301" * 10_000, 1.0))}, 80).plain
    assert len(table) < 1000


def test_emoji_with_joiners_stay_whole() -> None:
    assert safe("👩‍👩‍👧") == "👩‍👩‍👧"


# --- where a list ends ---


def test_drivers_come_first_then_a_line_then_the_rest() -> None:
    lines = explanations_table(two_labels(), 80).plain.splitlines()
    told = [line.split()[1] if line.split()[0].isdigit() else line.strip() for line in lines if line.strip()]
    assert told[2:6] == ["too", "bad", f"{NOT_TOLD_APART} so far:", "no"]
    assert told[-5:] == ["iPhone", f"{NOT_TOLD_APART} at this budget:", "🎉", "against positive:", "dull"]


def test_what_lowers_a_label_is_not_listed_for_it() -> None:
    """Twenty terms are asked for and there are three: the last of them has a score below 0."""
    words = (term("too", 2.0), term("camera", 0.0, driver=False), term("fun", -1.5, driver=False, anchors=None))
    table = explanations_table({"a": explanation("a", *words)}, 80).plain
    assert "camera" in table and "fun" not in table
    upside_down = explanations_table({"a": explanation("a", term("fun", -1.5, driver=False))}, 80).plain
    assert "fun" in upside_down
    without = explanations_table({"a": explanation("a", words[0], words[2])}, 80).plain
    assert NOT_TOLD_APART not in without


def test_where_nothing_is_left_to_test_the_line_says_so() -> None:
    tested = replace(term("no", 1.0, driver=False), tested=60)
    table = explanations_table({"a": explanation("a", term("too", 2.0), tested)}, 80).plain
    assert f"{NOT_TOLD_APART}, though everything is tested:" in table


def test_the_names_of_the_columns_stand_right_above_the_first_row() -> None:
    """No word for the label is told apart, and one against it."""
    shown = explanation("a", against=(term("dull", -4.2),), note="Too few.")
    lines = [line.split() for line in explanations_table({"a": shown}, 80).plain.splitlines()]
    assert [line[0] for line in lines] == ["a", "Too", "against", "#", "1"]


def test_the_number_of_a_term_is_named() -> None:
    """The second by score is no driver: the number 2 stands below the line."""
    words = (term("a", 3.0), term("b", 2.0, driver=False), term("c", 1.0))
    lines = explanations_table({"x": explanation("x", *words)}, 80).plain.splitlines()
    assert lines[1].startswith("  # by score ")
    assert [line.split()[:2] for line in lines[2:] if line.split()[0].isdigit()] == [["1", "a"], ["3", "c"], ["2", "b"]]


def test_every_score_has_three_digits() -> None:
    """The whole part stays whole, what is too small is a power of ten, and intervals give up digits for room."""
    words = [term(f"w{i}", score, reach=score / 2) for i, score in enumerate((1234.4, 9.06, 0.0416, 0.00000312))]
    rows = explanations_table({"a": explanation("a", *words)}, 80).plain.splitlines()[2:]
    assert [row.split()[-3:-1] for row in rows] == [
        ["1,234", "617…1,852"],
        ["9.06", "4.53…13.6"],
        ["0.0416", "0.0208…0.0624"],
        ["3.1e-6", "1.6e-6…4.7e-6"],
    ]
    wide = replace(term("w", 0.07), interval=(-0.0091, 0.155))
    assert "-0.0091…0.16 " in explanations_table({"a": explanation("a", wide)}, 80).plain


def test_a_list_of_drivers_has_no_line() -> None:
    assert NOT_TOLD_APART not in explanations_table({"a": explanation("a", term("x", 2.0))}, 80).plain


def test_a_race_without_drivers_shows_its_note_instead_of_words() -> None:
    """A scan knows no doubts: its words stay, and the note stands above them instead of the line."""
    word = term("camera", 0.1, driver=False)
    told = "No term is shown to do more than any other for 'ham' after 90 tests."
    race = explanations_table({"ham": explanation("ham", word, regret=0.3, note=told)}, 80).plain
    assert told in race and "camera" not in race and NOT_TOLD_APART not in race and "regret" not in race
    scan = explanations_table({"ham": explanation("ham", word, note=told)}, 80).plain
    assert told in scan and scan.splitlines()[-2].strip().split()[0] == "#" and "camera" in scan
    assert NOT_TOLD_APART not in scan


def test_counts_are_estimates_with_their_denominators() -> None:
    """Robust is said of 300 tested documents, and only where anchors are tested."""
    first, second = explanations_table(two_labels(), 160).plain.splitlines()[0].split("positive")
    assert "2,158 documents · robust ≈ 12 of 2,158 (tested: 300)" in first
    assert "≈ 2,158 documents (asked: 400)" in second and "robust" not in second
    known = explanation("a", term("x", 1.0), robust=3, robust_of=2158)
    assert "robust 3 of 2,158 ·" in explanations_table({"a": known}, 80).plain


def test_titles_and_notes_are_wrapped_and_not_cut() -> None:
    text = explanations_table({"a": replace(two_labels()["negative"], note="A sentence that is long. " * 4)}, 50).plain
    assert "(tested: 300)" in text and text.count("sentence") == 4 and "…" not in text.split("interval")[0]


# --- a view hides function words ---


def hidden(*terms: Term, **more: object) -> list[str]:
    shown = {"a": explanation("a", *terms, **more)}
    return explanations_table(shown, 80, hide=function_words()).plain.splitlines()


def test_hidden_words_keep_their_ranks_and_are_named() -> None:
    against = (term("The", -3.0), term("dull", -2.0))
    lines = hidden(term("and", 9.0), term("great", 5.0), term("of", 2.0, driver=False), against=against)
    assert [line.split()[:2] for line in lines if line.split()[0].isdigit()] == [["2", "great"], ["2", "dull"]]
    assert lines[-1].strip() == "hidden: and (1), of (3); against: The (1)"


def test_negations_are_never_hidden() -> None:
    assert not function_words() & {"not", "no", "nor", "n't", "don't", "never", "cannot", "nothing", "without"}
    assert not any("hidden" in line for line in hidden(term("not", 2.0), term("no", 1.0)))


def test_every_number_is_explained() -> None:
    """A column of the table has a line under --verbose, and a run is told nothing about what it has not."""
    fast = explained_names(preset("fast").to_dict(), 0.9)
    figures = ("#", "effect", "score", "interval", "driver", "member", "tested/of", "regret", "settled")
    assert fast.keys() == {*figures, "limits"}
    paper = explained_names(preset("paper").to_dict(), 1.0)
    assert {"anchors/tested", "robust"} <= paper.keys() and not {"member", "regret"} & paper.keys()
    baseline = explained_names({**preset("paper").to_dict(), "aggregation": "base"}, 1.0)
    assert "driver" in paper and "driver" not in baseline
    lines = names_lines(preset("fast").to_dict(), 0.9, 60)
    assert max(map(len, lines)) <= 60 and any(line.startswith("member: ") and "top 20" in line for line in lines)


def test_what_a_score_does_not_see_stands_beside_its_numbers() -> None:
    """Leaving out one of two words that say the same changes nothing; where words are replaced, texts are others."""
    fast, banzhaf, paper = (
        explained_names(preset(name).to_dict(), 0.9)["limits"] for name in ("fast", "banzhaf", "paper")
    )
    assert fast.startswith("terms that say the same hide each other") and "rare term" in fast
    assert banzhaf.startswith("half of each text is replaced")
    assert "error rate" in paper and "rare term" not in paper
    assert all(told.endswith("docs/limits.md") for told in (fast, banzhaf, paper))


def test_note_of_a_label_without_terms_is_shown() -> None:
    empty = explanation("rare", note="No document is predicted 'rare': there is nothing to explain.")
    assert "nothing to explain" in explanations_table({"rare": empty}, 80).plain


def test_bars_show_how_much_a_word_speaks_against_a_label() -> None:
    """Of 4 for it and 2 against it: a whole bar and half a bar."""
    table = explanations_table({"a": explanation("a", term("x", 4.0), against=(term("y", -2.0),))}, 80).plain
    lines = {line.split()[1]: line.count("█") for line in table.splitlines() if "█" in line}
    assert lines["x"] == pytest.approx(2 * lines["y"], abs=1) and lines["y"] > 5


def longest_bars(*scores: float) -> list[int]:
    """The cells of the longest bar of each label whose only term has such a score; and nothing but the sentence says
    that they are not to one scale."""
    table = explanations_table({str(i): explanation(str(i), term("x", score)) for i, score in enumerate(scores)}, 80)
    bars = [line.count("█") for line in table.plain.splitlines() if "█" in line]
    assert ("each has a scale of its own" in table.plain) == (len({*bars}) == 1 < len({*scores}))
    return bars


def test_the_bars_of_all_labels_have_one_scale_unless_they_are_far_apart() -> None:
    """Half as long for half the score; from five times on, each label has its own, as on the page."""
    first, second = longest_bars(4.0, 2.0)
    assert first == pytest.approx(2 * second, abs=1) and second > 5
    first, second = longest_bars(10.0, 2.0)
    assert first == pytest.approx(5 * second, abs=5)
    first, second = longest_bars(10.5, 2.0)
    assert first == second


def live(width: int, height: int) -> tuple[LiveTable, Console]:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=height, color_system=None)
    return LiveTable(console, "the model reads"), console


def drawn(table: LiveTable, console: Console) -> list[str]:
    with console.capture() as capture:
        console.print(table._picture())
    return capture.get().splitlines()


def test_live_table_waits_for_the_first_test() -> None:
    table, console = live(80, 24)
    table.update(snapshot(two_labels(), tests=0))
    assert "the model reads" in drawn(table, console)[0]


def test_live_table_shows_progress_and_moves() -> None:
    table, console = live(80, 24)
    table.update(snapshot(two_labels()))
    swapped = two_labels()
    first, second, _ = swapped["negative"].terms
    swapped["negative"] = replace(swapped["negative"], terms=(second, first, term("dull", 1.0)))
    table.update(snapshot(swapped, tests=200, planned=200))
    lines = drawn(table, console)
    assert "▲1" in lines[2] and "bad" in lines[2] and "▼1" in lines[3] and "new" in lines[4]
    assert lines[-2].startswith(" 50%") and "200 of 400 tests" in lines[-1] and "1 of 2 settled" in lines[-1]


def test_arrows_last_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(terminal, "monotonic", lambda: now[0])
    table, console = live(80, 24)
    swapped = two_labels()
    three = [replace(one, driver=True) for one in swapped["negative"].terms[::-1]]
    swapped["negative"] = replace(swapped["negative"], terms=tuple(three))
    for moment, view in [(0.0, two_labels()), (1.0, swapped), (2.0, swapped)]:
        now[0] = moment
        table.update(snapshot(view))
    assert "▲2" in "".join(drawn(table, console))
    now[0] = 5.0
    table.update(snapshot(swapped))
    assert "▲2" not in "".join(drawn(table, console))


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 12), (160, 40), (200, 60)])
def test_live_table_fits_the_window(width: int, height: int) -> None:
    """Nine labels of thirty terms do not fit into any of these; what does not fit is counted."""
    many = {f"label {i}": explanation(f"label {i}", *(term(f"w{j}", 30.0 - j) for j in range(30))) for i in range(9)}
    table, console = live(width, height)
    table.update(snapshot(many))
    lines = drawn(table, console)
    assert len(lines) <= height
    assert sum(line.count("label ") for line in lines) == 9 or any("more label" in line for line in lines)


def test_live_table_leaves_nothing_behind() -> None:
    table, console = live(80, 24)
    table.open()
    table.update(snapshot(two_labels()))
    table.close()
    assert console.file.getvalue().endswith("\x1b[2K")  # type: ignore[attr-defined]  # the last line is erased


def test_progress_lines_are_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred snapshots in ten seconds: two lines."""
    now = [0.0]
    monkeypatch.setattr(terminal, "monotonic", lambda: now[0])
    stream = io.StringIO()
    lines = ProgressLines(stream)
    for i in range(1, 101):
        now[0] = i / 10
        lines.update(
            replace(snapshot(two_labels(), tests=i), cost=Cost(seconds=i / 10, tests=i, predictor_texts=10 * i))
        )
    written = stream.getvalue().splitlines()
    assert len(written) == 2
    assert written[0] == "anchorscope: 50 of 350 tests, 0:05, 100 calls/s, at most 0:30 left, 1 of 2 settled"


def test_predicted_documents_are_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece each second for twelve seconds: two lines; the live table says it in place of its first sentence."""
    now = [0.0]
    monkeypatch.setattr(terminal, "monotonic", lambda: now[0])
    stream = io.StringIO()
    lines = ProgressLines(stream)
    table, console = live(80, 24)
    for i in range(1, 13):
        now[0] = float(i)
        for reader in (lines, table):
            reader.predicted(100 * i, 2935)
    assert stream.getvalue().splitlines() == [
        "anchorscope: predicting documents: 500 of 2,935",
        "anchorscope: predicting documents: 1,000 of 2,935",
    ]
    console.print(table._picture())
    assert "predicting documents: 1,200 of 2,935" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        (Budget(), "at most 30:00 left"),
        (Budget(max_seconds=60), "at most 0:50 left"),
        (Budget(max_model_calls=300), "at most 0:20 left"),
    ],
)
def test_the_time_left_is_within_the_budget(budget: Budget, left: str) -> None:
    """From 0 to 10 seconds: 10 tests and 100 calls; 1,800 tests may come, or 200 calls, or 50 seconds."""
    pace = Pace(budget=budget)
    start = snapshot(two_labels())
    pace.figures(replace(start, cost=Cost()))
    cost = Cost(seconds=10.0, tests=10, predictor_texts=100)
    assert left in pace.figures(replace(start, cost=cost, tests_planned=1800))


def test_document_with_its_anchors_marked() -> None:
    words = (
        LocalWord("A", (0, 1), 0.0, 0.1, anchor=False, decided=True, agreements=5, samples=10),
        LocalWord("great", (2, 7), 1.0, 0.1, anchor=True, decided=False, agreements=49, samples=50),
    )
    table = local_table(document(words, "anchor"), 60).plain
    assert table.splitlines()[:2] == ["positive · probability 0.900", "A [great] film"]
    assert "●?" in table and "49/50" in table


def document(words: tuple[LocalWord, ...], score: str) -> LocalExplanation:
    return LocalExplanation("A great film", "positive", {"negative": 0.1, "positive": 0.9}, score, words)


def test_document_with_the_effects_of_its_words() -> None:
    """0.9 - 0.6 is 0.3: without "great" another label is more probable. 0.1 is less than a quarter of 0.6."""
    words = (
        LocalWord("A", (0, 1), 0.1, 0.0),
        LocalWord("great", (2, 7), 0.6, 0.0),
        LocalWord("film", (8, 12), -0.2, 0.0),
    )
    drawn = local_table(document(words, "occlusion"), 80)
    text, legend, _, _, first, second, third = drawn.plain.splitlines()[1:]
    assert text == "A [great] ‹film›" and legend.startswith("[for positive]  ‹against it›")
    assert "+0.100" in first and "+0.600 flips 0.300" in second and "-0.200" in third and "1.100" in third
    assert second.index("█") > second.index("│") and third.index("█") < third.index("│")
    styles = {drawn.plain[span.start : span.end].strip(): str(span.style) for span in drawn.spans}
    assert styles["[great]"] == "bold blue" and styles["‹film›"] == "bold dark_orange"


def test_an_effect_within_its_noise_is_not_marked() -> None:
    """0.2 is not beyond two deviations of 0.1, and of an unknown noise nobody knows: their bars are shades, and the
    legend says what these are."""
    words = (
        LocalWord("A", (0, 1), 0.2, 0.1),
        LocalWord("great", (2, 7), 0.3, 0.1),
        LocalWord("film", (8, 12), 0.9, float("nan")),
    )
    table = local_table(document(words, "banzhaf"), 60).plain
    assert table.splitlines()[1] == "A [great] film"
    assert "± 0.200" in table and "± unknown" in table and "flips" not in table
    first, second, third = table.splitlines()[-3:]
    assert "│░" in first and "│░" in third and "█" not in first + third
    assert "│█" in second and "░" not in second
    assert "░░ not told apart from 0" in " ".join(table.split())


def test_an_effect_of_nothing_needs_no_legend() -> None:
    """Where nothing is measured with noise, 0 is 0."""
    words = (LocalWord("A", (0, 1), 0.0, 0.0), LocalWord("great", (2, 7), 0.3, 0.0))
    table = local_table(document(words, "occlusion"), 60).plain
    assert "░" not in table and "not told apart" not in table


def test_a_long_word_and_a_hostile_one_stay_within_the_lines() -> None:
    text = f"{'x' * 100} \x1b[31m"
    table = local_table(
        LocalExplanation(text, "a", {"a": 1.0}, "occlusion", (LocalWord(text[:100], (0, 100), 0.1, 0.0),)), 40
    )
    assert max(line.cell_len for line in table.split("\n")) <= 40 and "\x1b" not in table.plain
    assert table.plain.count("x") >= 100


def test_a_label_of_megabytes_is_shown_at_once() -> None:
    """Cut into lines one by one it would take hours."""
    note = "Only 8 documents are predicted " + "x" * 20_000_000
    lines = explanations_table({"no": explanation("no", note=note)}, 80).plain.splitlines()
    assert 40 < len(lines) < 100


def test_csv_escapes_formulas_but_not_numbers() -> None:
    table = flat.to_csv({"=cmd()": explanation("=cmd()", term("@sum", -1.0))})
    row = table.splitlines()[1]
    assert row.startswith("'=cmd(),1,'@sum,'@sum,-1.0,-1.0,")


def test_markdown_keeps_its_columns() -> None:
    table = flat.to_markdown({"a|b<i>": explanation("a|b<i>", term("x", 1.0))})
    assert "| a\\|b&lt;i&gt; | 1 | x |" in table


def test_markdown_fetches_nothing() -> None:
    table = flat.to_markdown({"![x](http://evil)": explanation("![x](http://evil)", term("x", 1.0))})
    assert "| !\\[x\\](http://evil) | 1 | x |" in table


@pytest.mark.parametrize("text", ["\n=1+1", "＝1+1", "＋1", "－1", "＠sum"])
def test_a_formula_in_disguise_is_none(text: str) -> None:
    assert flat.cell(text) == f"'{text}"


def test_the_page_knows_the_same_formulas() -> None:
    """Its CSV is written by a script of its own."""
    begins = re.search(r"/\^\[(.*)\]/\.test\(value\)", page.asset("dom.js"))
    assert begins
    assert {*re.sub(r"\\(.)", r"\1", begins[1])} == {*"".join(flat.FORMULA).translate({9: "t", 13: "r", 10: "n"})}


def test_markdown_has_the_line_and_the_list_against() -> None:
    rows = [line.split(" | ") for line in flat.to_markdown({"positive": two_labels()["positive"]}).splitlines()[2:]]
    assert [row[2] for row in rows] == [
        *("太好", "iphone", f"*{NOT_TOLD_APART} at this budget*", "🎉", "*against positive*", "dull"),
    ]
    assert rows[1][3] == "iPhone"


def test_markdown_has_one_line_though_a_word_below_it_scores_more_than_a_driver() -> None:
    shown = explanation("a", term("x", 3.0), term("y", 2.0, driver=False), term("z", 1.0))
    cells = [line.split(" | ")[2] for line in flat.to_markdown({"a": shown}).splitlines()[2:]]
    assert cells == ["x", "z", f"*{NOT_TOLD_APART} so far*", "y"]


def test_markdown_has_the_note_of_a_race_without_drivers() -> None:
    none = explanation("ham", term("x", 1.0, driver=False), regret=0.2, note="No word | is told apart.")
    assert flat.to_markdown({"ham": none}).splitlines()[2:] == [
        "| ham |  | *No word \\| is told apart.* |  |  |  |  |  |  |  |  |  |"
    ]


def test_json_has_no_infinities() -> None:
    odd = replace(term("too", 2.0), interval=(float("-inf"), float("inf")))
    assert '"low": null' in flat.to_json({"a": explanation("a", odd)})


@pytest.mark.parametrize("width", range(40, 100, 7))
def test_a_sentence_is_not_broken_within_an_option(width: int) -> None:
    """Who reads it copies --max-model-calls."""
    note = "None of the 1,234 documents that were asked is predicted 'x'; raise --max-model-calls to ask about more."
    shown = explanations_table({"x": replace(explanation("x", term("y", 1.0)), note=note)}, width).plain
    assert "--max-model-calls" in shown
