"""The tables of a run: layout, hostile texts, live and plain progress."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from golden import FOLDER, assert_golden
from rich.console import Console

from anchorscope.local import LocalAnchor, LocalExplanation
from anchorscope.report import flat, terminal
from anchorscope.report.local import local_table
from anchorscope.report.table import block, explanations_table, safe
from anchorscope.report.terminal import LiveTable, ProgressLines
from anchorscope.types import Cost, Explanation, Snapshot, Term

HOSTILE = "a\x1b[31m\u202e[bold]\n\tb"


def term(word: str, score: float, *, reach: float = 0.0, membership: float | None = None) -> Term:
    return Term(word, score, (score - reach, score + reach), membership, 30, 10, 0, 60)


def explanation(label: str, *terms: Term, **more: object) -> Explanation:
    values = {"documents": 2158, "robust": 12, "settled": False, "regret": None, **more}
    return Explanation(label=label, terms=terms, **values)  # type: ignore[arg-type]


def two_labels() -> dict[str, Explanation]:
    negative = explanation("negative", term("too", 23.2, reach=4), term("bad", 17.2, reach=2), term("no", 1.0))
    positive = explanation(
        "positive", term("太好", 8.06, membership=0.99), term("🎉", 5.99, membership=0.5), regret=0.047
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


def test_note_of_a_label_without_terms_is_shown() -> None:
    empty = explanation("rare", note="No document is predicted 'rare': there is nothing to explain.")
    assert "nothing to explain" in explanations_table({"rare": empty}, 80).plain


def test_negative_scores_have_bars_too() -> None:
    """Of -1 and -3 the least is the end of the scale: bars of two thirds and nothing."""
    table = explanations_table({"a": explanation("a", term("x", -1.0), term("y", -3.0))}, 80).plain
    first, second = table.splitlines()[2:]
    assert "█" in first and "█" not in second


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
    assert lines[-2].startswith(" 50%") and "200 of 400 tests" in lines[-1] and "0 of 2 settled" in lines[-1]


def test_arrows_last_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(terminal, "monotonic", lambda: now[0])
    table, console = live(80, 24)
    swapped = two_labels()
    swapped["negative"] = replace(swapped["negative"], terms=swapped["negative"].terms[::-1])
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
    assert written[0] == "anchorscope: 50 of 350 tests, 0:05, 100 texts/s, at most 0:30 left, 0 of 2 settled"


def test_document_with_its_anchors_marked() -> None:
    words = (LocalAnchor("A", (0, 1), False, True, 5, 10, 0.0), LocalAnchor("great", (2, 7), True, False, 49, 50, 0.2))
    table = local_table(
        LocalExplanation("A great film", "positive", {"negative": 0.1, "positive": 0.9}, words), 60
    ).plain
    assert table.splitlines()[:2] == ["positive · probability 0.900", "A [great] film"]
    assert "●?" in table and "49/50" in table


def test_csv_escapes_formulas_but_not_numbers() -> None:
    table = flat.to_csv({"=cmd()": explanation("=cmd()", term("@sum", -1.0))})
    row = table.splitlines()[1]
    assert row.startswith("'=cmd(),1,'@sum,-1.0,-1.0,")


def test_markdown_keeps_its_columns() -> None:
    table = flat.to_markdown({"a|b<i>": explanation("a|b<i>", term("x", 1.0))})
    assert "| a\\|b&lt;i&gt; | 1 | x |" in table


def test_json_has_no_infinities() -> None:
    odd = replace(term("too", 2.0), interval=(float("-inf"), float("inf")))
    assert '"low": null' in flat.to_json({"a": explanation("a", odd)})


def test_block_shows_as_many_terms_as_asked() -> None:
    from anchorscope.report.table import Layout

    layout = Layout(width=80, term=10, intervals=False, members=False)
    assert len(block(two_labels()["negative"], layout, "cyan", n_terms=2)) == 4
