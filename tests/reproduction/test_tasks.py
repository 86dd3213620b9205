"""The tasks: files as they are downloaded, and what is refused."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from reproductions import write_table

from anchorscope.errors import DocumentsError
from anchorscope.reproduction import tasks


def test_kaggles_corona_file(tmp_path: Path) -> None:
    """Latin-1, its own columns, five labels: extreme ones merged, neutral dropped, tweets cleaned."""
    labels = ["Extremely Negative", "Negative", "Neutral", "Positive", "Extremely Positive"]
    rows = [["1", f"@bob Caf\xe9 closed, #COVID19 day {i} https://t.co/x", labels[i % 5]] for i in range(100)]
    write_table(tmp_path / "Corona_NLP_train.csv", ["UserName", "OriginalTweet", "Sentiment"], rows, "latin-1")
    task = tasks.load("corona", tmp_path)
    every = [*task.train, *task.validation, *task.test]
    assert len(every) == 80 and {label for _, label in every} == {"negative", "positive"}
    assert (len(task.train), len(task.validation), len(task.test)) == (40, 10, 30)
    assert sorted(every)[0][0].startswith("caf\xe9 closed, covid19 day")
    assert not task.stand_in


def test_kaggles_dilemma_file_is_balanced(tmp_path: Path) -> None:
    rows = [[f"tweet number {i} about it", "Positive" if i % 4 else "Negative", "x"] for i in range(200)]
    write_table(tmp_path / "TheSocialDilemma.csv", ["text", "Sentiment", "source"], rows)
    task = tasks.load("dilemma", tmp_path)
    every = [*task.train, *task.validation, *task.test]
    assert len(every) == 100 and sum(label == "negative" for _, label in every) == 50
    assert len(task.train) == 45


def test_kaggles_spam_file_is_json_lines(tmp_path: Path) -> None:
    lines = [json.dumps({"reviewText": f"a toy of kind {i}", "class": float(i % 2)}) for i in range(40)]
    (tmp_path / "Toys_and_Games.json").write_text("\n".join(lines) + "\n")
    task = tasks.load("toys", tmp_path)
    assert {label for _, label in task.train} == {"spam", "non-spam"}


def test_packed_tables_and_the_documents_that_are_explained(tmp_path: Path) -> None:
    texts = ["x" * n for n in range(10, 260)]
    lines = "".join(f"{text},{'positive' if len(text) % 2 else 'negative'}\n" for text in texts)
    with gzip.open(tmp_path / "amazon_snippets_hutto.csv.gz", "wt", encoding="utf-8") as file:
        file.write("text,label\n" + lines)
    task = tasks.load("amazon", tmp_path)
    explained = task.explained()
    assert task.stand_in and {len(text) for text, _ in explained} == {*range(21, 201)}, "of so few rows, all"
    tested = replace(task, explains_all=False)
    assert tested.explained() == [(text, label) for text, label in task.test if 20 < len(text) <= 200]
    assert task.explained(5) == explained[:5]
    assert max(len(text) for text, _ in task.explained(longest=100)) <= 100
    assert tasks.load("amazon", tmp_path) == task, "the split is the same every time"


@pytest.mark.parametrize(
    "name, content, told",
    [
        ("corona", "a,b\n1,2\n", "has no columns text and label"),
        ("corona", "text,label\nfine,positive\n", "needs documents of two labels"),
        ("dilemma", None, "expected TheSocialDilemma.csv or dilemma_3class.csv"),
    ],
    ids=["columns", "one-label", "missing"],
)
def test_a_folder_in_another_format_is_refused(tmp_path: Path, name: str, content: str | None, told: str) -> None:
    if content is not None:
        (tmp_path / "corona_train_3class.csv").write_text(content)
    with pytest.raises(DocumentsError, match=told):
        tasks.load(name, tmp_path)
    with pytest.raises(DocumentsError, match="is no folder"):
        tasks.load("corona", tmp_path / "nowhere")
