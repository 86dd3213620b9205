"""A hundred poison documents: does each come through, or is it counted with its reason?

Empty, one word, a megabyte, a million repetitions of a word, NUL, lone surrogates, combining marks, right-to-left,
emoji sequences, only punctuation, only stop words, HTML, the mask word itself, and more, each kind several times; then
ten thousand duplicates. They are given to the library, in memory and through files, under each perturbator that needs
no download; every run is kept in a folder and its report is written.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from anchorscope.journal.reader import RunReader
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.embedded import EmbeddedPerturbator
from anchorscope.perturbators.mask_token import MaskTokenPerturbator
from anchorscope.report.page import write_report
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.text.read import Documents, read_files, read_texts
from anchorscope.types import Perturbator
from reliability.models import FOLDER, Counted
from reliability.tables import Study, options
from reliability.work import Work

N = 100

KINDS: dict[str, Callable[[int], str]] = {
    "empty": lambda i: " \n\t"[: i % 4],
    "one word": lambda i: ["film", "I", "great", "7", "ﬁlm"][i % 5],
    "one megabyte in one word": lambda i: "x" * (2**20 >> 2 * i) + str(i),
    "one megabyte of words": lambda i: f"the film {i} was so bad " * (50_000 >> i),
    "a million repetitions of a word": lambda i: "great " * (10**6 >> 2 * i) + "film " * i,
    "NUL": lambda i: f"a great\0film \0 {i}\0",
    "control characters": lambda i: "bad \x07\x1b[31mfilm\x1b[0m \x85 \u2028 great " + chr(1 + i),
    "lone surrogates": lambda i: f"great \ud800 film\udfff {i} \udc80bad",
    "combining marks": lambda i: "g" + "\u0301" * (1000 + i) + "reat fi\u0301lm \u0301\u0302",
    "right to left": lambda i: f"\u202egreat \u05e9\u05dc\u05d5\u05dd {i} \u0645\u0631\u062d\u0628\u0627 film\u202c",
    "emoji sequences": lambda i: "👩‍👩‍👧‍👦 great 🏳️‍🌈 film 👍🏿 " * (i + 1),
    "only punctuation": lambda i: "?! … — «»"[: i + 1] * 3,
    "only stop words": lambda i: "the and of to a in is it " * (i + 1),
    "HTML": lambda i: f"<script>alert({i})</script><b>great</b> &lt;film&gt; <!-- bad --> ]]>",
    "the mask word": lambda i: f"great [MASK] film [PAD] [UNK] <mask> ##ing {i}",
    "no script with spaces": lambda i: "我很喜欢这部电影非常好看" * (i + 1),
    "formulas": lambda i: f"=cmd|' /C calc'!A{i} great +film -bad @great",
    "very long line of one letter words": lambda i: "a b c d e f g " * 20 + str(i),
    "numbers": lambda i: f"1e999 -0 NaN inf 0x{i} 1,000.00 ½ ٣",
    "zero width": lambda i: f"gre\u200bat fi\u00adlm \ufeff{i} bad\u2060",
}


def documents() -> list[str]:
    """A hundred of them, in turn over the kinds."""
    kinds = list(KINDS.values())
    return [kinds[i % len(kinds)](i // len(kinds)) for i in range(N)]


def main() -> int:
    """Run the study."""
    given = options(__doc__).parse_args()
    study = Study(
        "poison",
        f"{N} poison documents of {len(KINDS)} kinds",
        "0 crashes; processed + skipped = 100",
        0,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-poison-") as scratch:
        return feed(study, Path(scratch))


def feed(study: Study, scratch: Path) -> int:
    """The hundred, every way in and under every perturbator."""
    os.environ[FOLDER] = str(Work.make(scratch / "work", 1).folder)
    texts = documents()
    with open(scratch / "poison.csv", "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text"])
        table.writerows([text.encode("utf-8", "replace").decode()] for text in texts)
    ways = {"Python": read_texts(texts), "CSV": read_files(scratch / "poison.csv")}
    for way, read in ways.items():
        for perturbator in (None, CorpusPerturbator(), MaskTokenPerturbator(""), EmbeddedPerturbator(top_n=10)):
            if not study.quick or isinstance(perturbator, CorpusPerturbator | None):
                one(study, way, read, perturbator, scratch / f"{way} {named(perturbator)}", N)
    copies = read_texts(["the great bad film"] * 10_000)
    one(study, "10,000 duplicates", copies, CorpusPerturbator(), scratch / "copies", 10_000)
    n_right = sum(row["crashes"] == 0 and row["processed"] + row["skipped"] == row["given"] for row in study.rows)
    return study.end(
        reached=n_right == len(study.rows),
        found=f"{n_right} of {len(study.rows)} ways without a crash and with every document accounted for: "
        + "; ".join(sorted({row["why"] for row in study.rows})),
    )


def named(perturbator: Perturbator | None) -> str:
    """What the table calls it."""
    return "none" if perturbator is None else perturbator.name


def one(study: Study, way: str, read: Documents, perturbator: Perturbator | None, folder: Path, n: int) -> None:
    """One run over them, kept and reported: words left out, or others put in their place."""
    score = "occlusion" if perturbator is None else "banzhaf"
    settings = Settings(score=score, strategy="scan", min_occurrences=2, top_k=10, max_samples=12)
    run = Run(read, Counted(), perturbator, settings, folder=folder)
    try:
        for _ in run.snapshots():
            pass
        result = run.result()
        write_report(folder)
    except Exception as error:
        why = f"{type(error).__name__}: {str(error)[:200]}"
        study.add(way=way, perturbator=named(perturbator), given=n, processed=0, skipped=0, crashes=1, why=why)
        return
    skipped = result.documents["skipped"]
    with closing(RunReader(folder)) as kept:
        processed = int(kept.documents_per_label().sum())
    study.add(
        way=way,
        perturbator=named(perturbator),
        given=n,
        processed=processed,
        skipped=sum(skipped.values()),
        crashes=0,
        why=", ".join(f"{number} {reason}" for reason, number in skipped.items()) or "none skipped",
    )


if __name__ == "__main__":
    raise SystemExit(main())
