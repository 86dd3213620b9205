"""The view and the static page, without a browser: what is in them, how it is written, and how large it gets."""

from __future__ import annotations

import json
import re
import sqlite3
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import finish, make_run, predictor, reviews

from anchorscope.asking.budget import Budget
from anchorscope.asking.retry import Retry
from anchorscope.cli import main, make_parsers
from anchorscope.errors import RunFolderError
from anchorscope.explanations import Shown, explanation
from anchorscope.journal.evidence import STRONGEST, WEAKEST
from anchorscope.journal.reader import RunReader
from anchorscope.journal.standings import Standings
from anchorscope.journal.writer import Journal
from anchorscope.report import kept as kept_run
from anchorscope.report import page, server, texts, view
from anchorscope.report.names import driver_help
from anchorscope.report.texts import embed, utf16
from anchorscope.report.view import page_data
from anchorscope.result import Result
from anchorscope.scoring.aggregation import Standing
from anchorscope.scoring.aggregations import AGGREGATIONS, total
from anchorscope.scoring.probabilistic import pr
from anchorscope.scoring.tally import Tally


def kept(folder: Path, **given: Any) -> Path:
    run = make_run(folder=folder, **given)
    finish(run)
    return folder


RACE = {"strategy": "race", "aggregation": "total", "test": "fixed"}
RUNS: dict[str, dict[str, Any]] = {"scan": {}, "race": {**RACE, "score": "banzhaf"}, "occlusion": RACE}


@pytest.fixture(scope="module", params=RUNS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept(tmp_path_factory.mktemp("page") / request.param, **RUNS[request.param])


@pytest.fixture(scope="module")
def effects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that leaves words out: nothing is perturbed, no anchor is tested."""
    return kept(tmp_path_factory.mktemp("page") / "effects", texts=[*reviews(60), "great great film"], **RACE)


# --- the view ---


def test_the_view_has_the_list_of_the_result(folder: Path) -> None:
    """The first terms of the run's own aggregation, with their intervals."""
    data, result = page_data(folder), Result.load(folder)
    names = data["terms"]["term"]
    for number, label in enumerate(data["about"]["labels"]):
        standing = data["standings"][result.settings["aggregation"]][number]
        terms = result[label["name"]].terms
        assert [names[i] for i in standing["terms"][: len(terms)]] == [term.term for term in terms]
        np.testing.assert_allclose(standing["low"][: len(terms)], [term.interval[0] for term in terms], atol=1e-6)
        assert label["documents"] == result[label["name"]].documents
        for name in ("asked", "robust", "robust_of", "settled", "note"):
            assert label[name] == getattr(result[label["name"]], name)
        assert standing["note"] == label["note"]
        assert {names[i] for i in standing["drivers"]} >= {term.term for term in terms if term.driver}
        assert [names[i] for i in standing["against"]][:4] == [t.term for t in result[label["name"]].against]


def test_documents_hold_what_was_measured(folder: Path) -> None:
    """Every place is the term that it says; the value of a card is that of the word in its document."""
    data = page_data(folder)
    terms = data["terms"]["term"]
    graded, perturbs = (data["about"]["score"][name] for name in ("graded", "perturbs"))
    by_key = {document["key"]: document for document in data["documents"]}
    assert by_key and data["evidence"]
    for document in by_key.values():
        assert (document["robust"] is None) != perturbs
        for start, end, term, *_ in document["words"]:
            assert document["text"][start:end].casefold() == terms[term]
    for card in data["evidence"]:
        words = [word for word in by_key[card["document"]]["words"] if word[2] == card["term"]]
        assert (card["value"], card["deviation"]) in [(word[3], word[4]) for word in words]
        assert {len(word) for word in words} == {5 if graded else 8}
        assert card["anchor"] is None if graded else card["anchor"] in [bool(word[5]) for word in words]
        assert "counts" not in card or sum(card["counts"].values()) == 20
    assert any("counts" in card for card in data["evidence"]) == perturbs


def test_the_numbers_of_a_card_are_its_own(effects: Path) -> None:
    """By hand: what the model says of the document, and of the document without the word."""
    data = page_data(effects)
    model = predictor()
    texts_ = {document["key"]: document["text"] for document in data["documents"]}
    for card in data["evidence"]:
        term = data["terms"]["term"][card["term"]]
        text = texts_[card["document"]]
        without = " ".join(word for word in text.split() if word != term)
        before, after = model.predict([text, without])[:, card["label"]]
        assert card["confidence"] == pytest.approx(before) and card["value"] == pytest.approx(before - after, abs=1e-6)
        assert card["deviation"] == 0


def test_the_cards_of_a_term_come_by_their_effect(folder: Path) -> None:
    """Each document once, the greatest effect first; the strongest of all that was measured is among them."""
    data = page_data(folder)
    of_terms: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for card in data["evidence"]:
        of_terms.setdefault((card["label"], card["term"]), []).append(card)
    assert max(map(len, of_terms.values())) > 1
    for cards in of_terms.values():
        assert [card["value"] for card in cards] == sorted((card["value"] for card in cards), reverse=True)
        assert len({card["document"] for card in cards}) == len(cards) <= STRONGEST + 2 * WEAKEST


def test_every_test_of_a_term_that_has_few_is_a_card(effects: Path) -> None:
    """The texts that a run keeps are those that its page shows: of six tests the four strongest and the last two."""
    data = page_data(effects)
    n_cards = Counter((card["label"], card["term"]) for card in data["evidence"])
    few = 0
    for label, column in enumerate(data["terms"]["labels"]):
        for term, tested in enumerate(np.add(column["anchors"], column["non_anchors"]).tolist()):
            if (label, term) in n_cards and tested <= STRONGEST + WEAKEST:
                assert n_cards[label, term] == tested
                few += tested > STRONGEST
    assert few > 0


def test_the_page_knows_what_a_driver_is_compared_to(effects: Path) -> None:
    """What any term does, as the forecasts of the run have it; and which terms all tests found to do nothing."""
    data = page_data(effects)
    with closing(RunReader(effects)) as run:
        standings = Standings(run, alpha=0.5, k=4)
        rows = run.measured()
        for label, column in enumerate(data["terms"]["labels"]):
            usual = standings.forecasts(AGGREGATIONS["total"])[label].usual
            np.testing.assert_allclose(column["usual"], usual, rtol=0.01)
            for term in column["silent"]:
                mine = (rows["term"] == term) & (run.predicted[rows["document"]] == label)
                assert mine.any() and not rows["value"][mine].any()
    assert any(column["silent"] for column in data["terms"]["labels"])


def test_the_model_calls_add_up(folder: Path) -> None:
    """To what the result says that the run took."""
    about = page_data(folder)["about"]
    assert sum(about["calls"].values()) == about["cost"]["predictor_texts"]
    assert about["calls"]["predictions"] == about["documents"] and about["calls"]["evidence"] > 0


def test_the_page_says_that_a_budget_was_spent_before_the_curve(tmp_path: Path) -> None:
    """The journal knows what ended the run, until it goes on."""
    race = {"strategy": "race", "aggregation": "total", "score": "occlusion"}
    folder = tmp_path / "run"
    finish(make_run(folder=folder, budget=Budget(max_model_calls=40), **race))
    about = page_data(folder)["about"]
    assert about["no_curve"].startswith("--max-model-calls was spent before it: raise it")
    assert any("--max-model-calls ended the run" in (label["note"] or "") for label in about["labels"])
    finish(make_run(folder=folder, resume=True, **race))
    after = page_data(folder)
    assert after["aopc"] and not any("ended the run" in (label["note"] or "") for label in after["about"]["labels"])


def test_what_a_race_cannot_be_sure_of_has_no_interval(effects: Path) -> None:
    standings = page_data(effects)["standings"]
    for name, has_intervals in (("total", True), ("excess", False), ("base", False)):
        ends = [end for label in standings[name] for end in (*label["low"], *label["high"])]
        assert any(end is not None for end in ends) == has_intervals


def test_all_words_of_a_term_have_its_effect(effects: Path) -> None:
    """They are taken out together, so one value is theirs."""
    document = next(one for one in page_data(effects)["documents"] if one["text"].count("great") == 2)
    values = [word[3] for word in document["words"] if document["text"][word[0] : word[1]] == "great"]
    assert len(values) == 2 and values[0] == values[1] > 0


def test_what_a_run_has_no_use_for_is_not_there(effects: Path) -> None:
    about = page_data(effects)["about"]
    assert about["perturbator"] is None and not about["score"]["perturbs"]
    assert not {"robust", "anchors/tested"} & about["names"].keys()
    assert all(label["robust"] is None for label in about["labels"])


def test_what_stands_against_a_label_has_a_score_against_it() -> None:
    """Two terms, both told apart on either side: the one with a score above 0 is for the label, the other against."""
    everything = np.ones((1, 2), bool)
    counts = np.full((1, 2), 3)
    one = AGGREGATIONS["total"]
    shown = Shown(
        terms=("good", "bad"),
        written=("good", "bad"),
        tally=replace(Tally.zero(1, 2), occurrences=counts, documents=counts, non_anchors=counts),
        scores=np.array([[1.0, -1.0]]),
        standing=Standing(
            *np.zeros((2, 1, 2)), settled=np.ones(1, bool), driver=everything, against=everything, regret=np.zeros(1)
        ),
        aggregation=one,
        counts_anchors=False,
        **{name: np.full(1, 20) for name in ("n_documents", "n_asked", "n_robust", "n_robust_of")},
    )
    told = explanation(shown, "yes", 0, 4)
    assert [(term.term, term.driver) for term in told.terms] == [("good", True), ("bad", False)]
    assert [term.term for term in told.against] == ["bad"]


def test_terms_are_written_as_they_are_most_often(tmp_path: Path) -> None:
    data = page_data(kept(tmp_path / "run", texts=["Great film", "Great cast", "great plot", "bad plot"], **RACE))
    written = dict(zip(data["terms"]["term"], data["terms"]["written"]))
    assert written["great"] == "Great" and written["plot"] is None


def test_history_ends_with_the_whole_list(folder: Path) -> None:
    history = page_data(folder)["history"]
    assert [point["round"] for point in history] == list(range(1, len(history) + 1))
    assert all(here["overlap"] == 1 for here in history[-1]["labels"].values())


def test_without_texts_there_are_figures_but_no_documents(tmp_path: Path) -> None:
    folder = kept(tmp_path / "run")
    with sqlite3.connect(folder / "journal.sqlite") as db:
        db.execute("DELETE FROM texts")
        db.execute("DELETE FROM evidence")
    db.close()
    data = page_data(folder)
    assert data["documents"] == [] and data["evidence"] == [] and data["terms"]["term"]


@pytest.mark.parametrize("score", ["occlusion", "banzhaf"])
def test_a_run_without_texts_has_cards_of_numbers(tmp_path: Path, score: str) -> None:
    data = page_data(kept(tmp_path / "run", keep_texts=False, **RACE, score=score))
    assert data["documents"] == [] and data["evidence"] and not data["about"]["texts"]
    assert any(card["value"] > 0 for card in data["evidence"])
    assert not any(text for card in data["evidence"] for kind in texts.KINDS for text in card.get(kind, []))


@pytest.mark.parametrize("given", [{}, {"score": "banzhaf", "aggregation": "total"}], ids=["anchors", "effects"])
def test_of_many_terms_the_best_are_kept_and_scores_stay(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Scores are over all candidates, so a term's does not change when others are left out."""
    folder = kept(tmp_path / "run", **given)
    everything = page_data(folder)["terms"]
    monkeypatch.setattr(kept_run, "MOST_TERMS", 5)
    data = page_data(folder)
    run = view.RunReader(folder)
    whole = kept_run.Kept(run)
    assert len(data["terms"]["term"]) == 5 < data["terms"]["n_terms"]
    assert {one.name for one in whole.aggregations} == {*everything["labels"][0]["scores"]}
    rankings = [(one, whole.standings.ranking(one, label)) for one in whole.aggregations for label in whole.explained]
    orders = [order.tolist() for _, order in rankings]
    orders += [order[::-1].tolist() for one, order in rankings if one.is_graded]  # what speaks against a label
    best = [min(order.index(term) for order in orders if term in order) for term in range(data["terms"]["n_terms"])]
    others = np.delete(best, whole.chosen)
    assert max(np.array(best)[whole.chosen]) <= others.min()
    for label, column in enumerate(data["terms"]["labels"]):
        for name, scores in column["scores"].items():
            assert scores == [everything["labels"][label]["scores"][name][i] for i in whole.chosen]
    own, formula = ("total", total) if given else ("pr", pr)
    np.testing.assert_allclose(
        data["terms"]["labels"][0]["scores"][own], formula(whole.standings.counted)[0][whole.chosen], rtol=1e-8
    )
    run.close()


def test_the_page_offers_every_aggregation_that_fits(folder: Path) -> None:
    """The run's own first, each with its line of help; what says yes or no has no values, what tests no anchors none
    to count."""
    data = page_data(folder)
    own, score = (data["about"]["settings"][name] for name in ("aggregation", "score"))
    fed = {
        "anchor": {"verdicts", "counts"},
        "banzhaf": {"values", "counts"},
        "occlusion": {"values", "counts"},
    }
    fitting = [one for one in AGGREGATIONS.values() if one.reads in fed[score]]
    offered = data["terms"]["aggregations"]
    assert offered[0]["name"] == own
    assert sorted(offered, key=lambda one: one["name"]) == [
        {
            "name": one.name,
            "help": one.help,
            "sum": one.name == "total",
            "driver": driver_help(one),
            "level": 0.9 if data["about"]["settings"]["strategy"] == "race" and one.can_race else 1.0,
        }
        for one in sorted(fitting, key=lambda one: one.name)
    ]
    for column in data["terms"]["labels"]:
        assert {name: len(scores) for name, scores in column["scores"].items()} == {
            one.name: len(data["terms"]["term"]) for one in fitting
        }


def test_texts_and_samples_are_cut_to_their_budgets(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """What the page can hold is bounded, whatever the documents are; a cut text says so, and marks stay within it."""
    for name, value in {"TEXT_BUDGET": 300, "EVIDENCE_BUDGET": 4000, "LONGEST_TEXT": 16, "LONGEST_SAMPLE": 12}.items():
        monkeypatch.setattr(texts, name, value)
    data = page_data(folder)
    documents, evidence = data["documents"], data["evidence"]
    assert 0 < sum(len(embed(document["text"])) for document in documents) <= 300
    assert all(len(document["text"]) == 16 for document in documents if document["cut"])
    assert all(word[1] <= 16 for document in documents for word in document["words"])
    samples = [text for card in evidence for kind in texts.KINDS for text in card.get(kind, [])]
    assert bool(samples) == data["about"]["score"]["perturbs"] and all(len(text) <= 12 + 2 for text in samples)
    assert 0 < sum(len(embed(card)) for card in evidence) <= 4000


def test_the_documents_of_the_first_terms_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run writes them first, and a page that has no room for all has room for them."""
    written: list[tuple[int, str]] = []
    write = Journal.write_texts

    def watched(self: Journal, texts: Iterable[tuple[int, str]]) -> None:
        written.extend(texts)
        write(self, written)

    monkeypatch.setattr(Journal, "write_texts", watched)
    folder = kept(tmp_path / "run", texts=reviews(200))
    with closing(RunReader(folder)) as run:
        assert [*run.texts().items()] == written != sorted(written)
        first = run.documents([number for number, _ in written[:5]])
    monkeypatch.setattr(texts, "TEXT_BUDGET", sum(texts.size(text) for _, text in written[:5]))
    assert {document["key"] for document in page_data(folder)["documents"]} == {key for key, *_ in first.values()}


def test_a_long_term_is_cut() -> None:
    assert len(view._cut("a" * 5000)) == view.LONGEST_TERM and view._cut("film") == "film"


# --- the file ---


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_embedded_data_reads_back_and_has_no_markup(data: Any) -> None:
    text = embed(data)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == json.loads(json.dumps(data).encode("utf-8", "replace"))


@given(st.text())
def test_places_are_counted_as_javascript_does(text: str) -> None:
    assert utf16(text)[-1] == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_the_policy_names_the_script_and_the_style(folder: Path) -> None:
    """What is in the file is what its policy allows, and nothing else: no handler, no address of another host."""
    text = page.write_report(folder).read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy and "unsafe" not in policy[1] and policy[1].startswith("default-src 'none'")
    for kind in ("script", "style"):
        (body,) = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        assert f"sha256-{b64encode(sha256(body.encode()).digest()).decode()}" in policy[1]
    assert set(re.findall(r"https?://[^\s\"'`]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function)\b", text)


def test_the_scripts_of_the_page_are_all_its_scripts() -> None:
    assert sorted(path.name for path in Path(page.__file__).parent.joinpath("page").glob("*.js")) == sorted(
        page.SCRIPTS
    )


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no run folder"):
        page.write_report(tmp_path)
    assert not list(tmp_path.iterdir())


# --- the commands ---


@pytest.mark.parametrize("name", ["sq", "h", "pr", "av"])
def test_top_counts_no_anchors_where_none_were_tested(
    effects: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", str(effects), "--aggregation", name]) == 2
    told = capsys.readouterr()
    assert not told.out and told.err.startswith("anchorscope: error: This run tested no anchors, so it cannot count")
    assert main(["top", str(effects), "--aggregation", "total"]) == 0


def test_top_hides_function_words_in_its_table_only(effects: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", str(effects), "--top-k", "12"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert main(["top", str(effects), "--top-k", "12", "--hide-function-words"]) == 0
    shown = capsys.readouterr().out
    assert "hidden: " in shown and "the (" in shown and "hidden: " not in "".join(lines)
    ranks = {tuple(line.split()[:2]) for line in lines if line.split()[:1] and line.split()[0].isdigit()}
    left = {tuple(line.split()[:2]) for line in shown.splitlines() if line.split()[:1] and line.split()[0].isdigit()}
    assert left < ranks and {word for _, word in ranks - left} <= {"the", "and"}
    assert main(["top", str(effects), "--hide-function-words", "--format", "csv"]) == 2
    assert "leave it out" in capsys.readouterr().err


def test_top_explains_its_numbers_when_asked(effects: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-v", "top", str(effects)]) == 0
    assert "member: the probability" in capsys.readouterr().err
    assert main(["top", str(effects)]) == 0
    assert "member: the probability" not in capsys.readouterr().err


def test_report_and_compare_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = kept(tmp_path / "one"), kept(tmp_path / "two", texts=reviews(30, seed=9))
    assert main(["report", str(one), "--against", str(two)]) == 0
    assert capsys.readouterr().out.strip() == str(one / "report.html")
    assert '"other":{"name":"two"' in (one / "report.html").read_text("utf-8")
    assert main(["report", str(one), "--to", str(tmp_path / "x.html")]) == 0
    capsys.readouterr()
    assert main(["compare", str(one), str(two), "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["labels"]["yes"]
    ranks = [change["after"] for change in changes if change["after"]]
    assert ranks == sorted(ranks) and {change["change"] for change in changes} <= {
        *("rose", "fell", "appeared", "vanished", "stayed")
    }
    assert main(["compare", str(one), str(one)]) == 0
    assert "=" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        ("top", "NONE"),
        ("evaluate", "NONE"),
        ("compare", "RUN", "NONE"),
        ("compare", "NONE", "RUN"),
        ("report", "NONE"),
        ("report", "RUN", "--against", "NONE"),
        ("serve", "NONE"),
        ("serve", "NONE", "--model", "models:answer"),
    ],
)
@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_that_is_no_run_is_called_so_by_every_command(
    command: tuple[str, ...], is_there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --model, a folder may be meant as documents: it is then called a folder."""
    none = tmp_path / "none"
    if is_there:
        none.mkdir()
    run = kept(tmp_path / "run") if "RUN" in command else tmp_path
    assert main([word.replace("NONE", str(none)).replace("RUN", str(run)) for word in command]) == 2
    told = f"{none} is a folder" if is_there and "--model" in command else f"{none} is no run folder: it holds no "
    assert told in capsys.readouterr().err


def test_options_of_the_yardsticks_are_refused_without_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--held-out", "more.csv"], ["--seeds", "2"], ["--no-oracle"]):
        assert main(["evaluate", str(tmp_path), *option]) == 2
        assert f"{option[0]} belongs to --yardsticks: add that, or leave it out." in capsys.readouterr().err


def test_markdown_has_what_csv_has(effects: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But for the side and what was skipped: a line of its own says what speaks against a label."""
    assert main(["top", str(effects), "--format", "csv"]) == 0
    in_csv = {*capsys.readouterr().out.splitlines()[0].split(",")}
    assert main(["top", str(effects), "--format", "md"]) == 0
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert {*lines[0]} == in_csv - {"side", "skipped"}
    rows = [dict(zip(lines[0], line)) for line in lines[2:] if line[1]]
    assert {row["driver"] for row in rows} <= {"yes", "no"} and all(row["written"] for row in rows)


def test_serve_says_what_it_cannot_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = kept(tmp_path / "run")
    assert main(["serve"]) == 2
    assert main(["serve", str(folder), "--top-k", "3"]) == 2
    assert "leave out --top-k" in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "none.csv")]) == 2


@pytest.mark.parametrize("option", [("--document", "a text"), ("--dry-run",)])
def test_what_belongs_to_explain_is_no_option_of_serve(
    option: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "docs.csv", *option]) == 2
    assert f"{option[0]!r} is not understood" in capsys.readouterr().err
    assert option[0] not in make_parsers()["serve"].format_help().split()


def test_the_model_of_a_kept_run_is_tried_as_often_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--model-tries and --model-timeout reach the model that texts are tried on."""
    retries: list[Retry] = []
    monkeypatch.setattr("anchorscope.cli.inputs.load_predictor", lambda *_, **__: predictor())
    monkeypatch.setattr(server, "serve", lambda run, **_: retries.append(run._trial._predictor._retry))
    model = ["--model", "some.skops", "--model-tries", "2", "--model-timeout", "5"]
    assert main(["-q", "serve", str(kept(tmp_path / "run")), *model]) == 0
    assert retries == [Retry(2, timeout=5.0)]
