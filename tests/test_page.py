"""The view and the static page, without a browser: what is in them, how it is written, and how large it gets."""

from __future__ import annotations

import json
import re
import sqlite3
from base64 import b64encode
from collections.abc import Iterable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import finish, make_run, predictor, reviews

from anchorscope.asking.retry import Retry
from anchorscope.cli import main, make_parsers
from anchorscope.errors import RunFolderError
from anchorscope.journal.reader import RunReader
from anchorscope.journal.writer import Journal
from anchorscope.report import page, server, view
from anchorscope.report.view import embed, page_data, utf16
from anchorscope.result import Result
from anchorscope.scoring.aggregations import AGGREGATIONS
from anchorscope.scoring.probabilistic import pr


def kept(folder: Path, **given: Any) -> Path:
    run = make_run(folder=folder, **given)
    finish(run)
    return folder


@pytest.fixture(scope="module", params=["scan", "race"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = {"strategy": "race", "aggregation": "total", "test": "fixed"} if request.param == "race" else {}
    return kept(tmp_path_factory.mktemp("page") / "run", **given)


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
        assert label["robust"] == result[label["name"]].robust
        assert label["settled"] == result[label["name"]].settled


def test_documents_hold_their_verdicts(folder: Path) -> None:
    """Every marked place is the term that it says, and an anchor of the evidence is an anchor of its document."""
    data = page_data(folder)
    terms = data["terms"]["term"]
    by_key = {document["key"]: document for document in data["documents"]}
    assert by_key
    for document in by_key.values():
        for start, end, term, *_ in document["words"]:
            assert document["text"][start:end].casefold() == terms[term]
    for piece in data["evidence"]:
        words = by_key[piece["document"]]["words"]
        assert any(word[2] == piece["term"] and bool(word[3]) == piece["anchor"] for word in words)
        assert sum(piece["counts"].values()) == 20


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


def test_of_many_terms_the_best_are_kept_and_scores_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Scores are over all candidates, so a term's does not change when others are left out."""
    folder = kept(tmp_path / "run", score="banzhaf")
    everything = page_data(folder)["terms"]
    monkeypatch.setattr(view, "MOST_TERMS", 5)
    data = page_data(folder)
    run = view.RunReader(folder)
    whole = view._Kept(run)
    assert len(data["terms"]["term"]) == 5 < data["terms"]["n_terms"]
    assert {one.name for one in whole.aggregations} == {*AGGREGATIONS}
    orders = [whole.standings.ranking(one, label).tolist() for one in whole.aggregations for label in whole.explained]
    best = [min(order.index(term) for order in orders if term in order) for term in range(data["terms"]["n_terms"])]
    others = np.delete(best, whole.chosen)
    assert max(np.array(best)[whole.chosen]) <= others.min()
    for label, column in enumerate(data["terms"]["labels"]):
        for name, scores in column["scores"].items():
            assert scores == [everything["labels"][label]["scores"][name][i] for i in whole.chosen]
    np.testing.assert_allclose(
        data["terms"]["labels"][0]["scores"]["pr"], pr(whole.counted)[0][whole.chosen], rtol=1e-8
    )
    run.close()


def test_the_page_offers_every_aggregation_that_fits(folder: Path) -> None:
    """The run's own first, each with its line of help; a scan here says yes or no, so there are no values to add up."""
    data = page_data(folder)
    own, strategy = (data["about"]["settings"][name] for name in ("aggregation", "strategy"))
    fitting = [one for one in AGGREGATIONS.values() if strategy == "race" or not one.is_graded]
    offered = data["terms"]["aggregations"]
    assert offered[0]["name"] == own
    assert sorted(offered, key=lambda one: one["name"]) == [
        {"name": one.name, "help": one.help, "graded": one.is_graded}
        for one in sorted(fitting, key=lambda one: one.name)
    ]
    for column in data["terms"]["labels"]:
        assert {name: len(scores) for name, scores in column["scores"].items()} == {
            one.name: len(data["terms"]["term"]) for one in fitting
        }


def test_texts_and_samples_are_cut_to_their_budgets(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """What the page can hold is bounded, whatever the documents are; a cut text says so, and marks stay within it."""
    for name, value in {"TEXT_BUDGET": 300, "EVIDENCE_BUDGET": 900, "LONGEST_TEXT": 16, "LONGEST_SAMPLE": 12}.items():
        monkeypatch.setattr(view, name, value)
    data = page_data(folder)
    documents, evidence = data["documents"], data["evidence"]
    assert 0 < sum(len(embed(document["text"])) for document in documents) <= 300
    assert all(len(document["text"]) == 16 for document in documents if document["cut"])
    assert all(word[1] <= 16 for document in documents for word in document["words"])
    kinds = ("kept_with", "lost_with", "kept_without", "lost_without")
    texts = [text for piece in evidence for kind in kinds for text in piece[kind]]
    assert texts and all(len(text) <= 12 + 2 for text in texts)
    assert sum(len(embed(text)) for text in texts) <= 900


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
    monkeypatch.setattr(view, "TEXT_BUDGET", sum(view._size(text) for _, text in written[:5]))
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


def test_report_and_compare_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = kept(tmp_path / "one"), kept(tmp_path / "two", texts=reviews(30, seed=9))
    assert main(["report", str(one), "--against", str(two)]) == 0
    assert capsys.readouterr().out.strip() == str(one / "report.html")
    assert '"other":{"name":"two"' in (one / "report.html").read_text("utf-8")
    assert main(["report", str(one), "--to", str(tmp_path / "x.html")]) == 0
    capsys.readouterr()
    assert main(["compare", str(one), str(two), "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["yes"]
    ranks = [change["after"] for change in changes if change["after"]]
    assert ranks == sorted(ranks) and {change["change"] for change in changes} <= {
        *("rose", "fell", "appeared", "vanished", "stayed")
    }
    assert main(["compare", str(one), str(one)]) == 0
    assert "=" in capsys.readouterr().out


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
