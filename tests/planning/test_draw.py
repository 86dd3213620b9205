"""Some documents are drawn of many that stay where they are: the right ones, and counts that are those of all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from runs import PLAIN, finish, outcome, predictor, reviews

from anchorscope.backends.named import named_blocks
from anchorscope.cli import main
from anchorscope.errors import DocumentsError, InputError, UnknownNameError
from anchorscope.planning.candidates import priorities
from anchorscope.planning.draw import draw
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.text.blocks import ParquetBlocks
from anchorscope.text.read import Documents, read_texts

SETTINGS = Settings(**{**PLAIN, "strategy": "race", "score": "occlusion", "aggregation": "total", "test": "fixed"})
TEXTS = [*reviews(400), "", "great film"] * 2 + ["great film"] * 9
"""Every text at least twice, and one twelve times: copies are told apart by a number."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, some in enumerate((TEXTS[:300], TEXTS[300:])):
        pq.write_table(pa.table({"text": some}), tmp_path / f"part {number}.parquet", row_group_size=64)
    return tmp_path


class InAnyOrder:
    """The same texts in small blocks, the last one first."""

    source = "elsewhere"

    def over(self, function: Callable[[list[str]], Any]) -> Iterator[Any]:
        for start in reversed(range(0, len(TEXTS), 7)):
            yield function(TEXTS[start : start + 7])


def test_the_first_documents_by_priority_are_drawn(folder: Path) -> None:
    """As reading everything and sorting by priority would have it."""
    everything = read_texts(TEXTS).documents
    order = np.argsort(priorities(0, [document.key for document in everything]), kind="stable")
    expected = sorted((everything[number].key, everything[number].text) for number in order[:50])
    drawn = draw(ParquetBlocks([folder]), 50, SETTINGS)
    assert [(document.key, document.text) for document in drawn.documents] == expected


def test_the_terms_of_the_drawn_ones_are_counted_in_all(folder: Path) -> None:
    drawn = draw(ParquetBlocks([folder]), 5, SETTINGS)
    assert drawn.beyond is not None and drawn.skipped == {"empty": 2}
    assert drawn.beyond.n_documents == len(TEXTS) - 2
    assert drawn.beyond.document_frequency == {
        term: sum(term in text.split() for text in TEXTS)
        for term in {w for d in drawn.documents for w in d.text.split()}
    }


def without_source(documents: Documents) -> Documents:
    return replace(documents, source="")


def test_blocks_may_come_in_any_order(folder: Path) -> None:
    assert without_source(draw(InAnyOrder(), 50, SETTINGS)) == without_source(
        draw(ParquetBlocks([folder]), 50, SETTINGS)
    )


def test_on_ray_it_is_the_same(folder: Path, local_ray: ModuleType) -> None:
    with named_blocks("ray", [f"{folder.as_uri()}/*.parquet"], None, 2) as blocks:
        there = draw(blocks, 50, SETTINGS)
    here = draw(ParquetBlocks([folder]), 50, SETTINGS)
    assert without_source(there) == without_source(here)


def explained(documents: Documents) -> dict[str, Any]:
    run = Run(documents, predictor(), None, SETTINGS)
    finish(run)
    return outcome(run)


def test_a_run_over_drawn_documents_speaks_of_all(folder: Path) -> None:
    found = explained(draw(ParquetBlocks([folder]), 200, SETTINGS))
    assert found["documents"]["usable"] == 200
    assert found["documents"]["skipped"]["not drawn, only counted"] == len(TEXTS) - 202
    told = found["labels"] if "labels" in found else found["explanations"]
    n = sum(label["documents"] for label in (told.values() if isinstance(told, dict) else told))
    assert abs(n - (len(TEXTS) - 2)) <= 1


def test_all_drawn_is_all_read(folder: Path) -> None:
    drawn = explained(draw(ParquetBlocks([folder]), 10_000, SETTINGS))
    read = explained(read_texts(TEXTS))
    assert all(drawn[name] == read[name] for name in drawn if name != "documents")


def test_what_cannot_be_drawn_is_said(folder: Path) -> None:
    with pytest.raises(DocumentsError, match=r"There is no Parquet file .*missing; name a .parquet file"):
        ParquetBlocks([folder / "missing"])
    with pytest.raises(UnknownNameError, match=r"text column in .* called 'texts'; did you mean 'text'"):
        ParquetBlocks([folder], "texts")
    (folder / "notes.txt").write_text("x")
    with pytest.raises(DocumentsError, match=r"notes.txt is no .parquet file"):
        ParquetBlocks([folder / "*"])
    with pytest.raises(InputError, match="leave one of them out"):
        draw(ParquetBlocks([folder]), 5, replace(SETTINGS, sample_documents=0.5))


def test_a_file_that_workers_cannot_see_is_said(folder: Path, local_ray: ModuleType) -> None:
    """It goes between the first look at it and the reading."""
    with named_blocks("ray", [folder], None, 2) as blocks:
        for path in folder.iterdir():
            path.rename(path.with_suffix(".gone"))
        with pytest.raises(DocumentsError, match=r"A worker cannot read .*every node sees it"):
            draw(blocks, 5, SETTINGS)


def test_the_command_draws(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "drawn_model.py").write_text(
        "def predict(texts):\n"
        "    return [{'no': 0.1, 'yes': 0.9} if 'great' in text else {'no': 0.8, 'yes': 0.2} for text in texts]\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    given = ["explain", str(folder), "--draw", "100", "--model", "drawn_model:predict", "--quiet"]
    assert main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["documents"]["usable"] == 100
    assert main([*given, "--label-column", "label"]) == 2
    assert "leave out --label-column" in capsys.readouterr().err
