"""How soon is there a table of all labels, where there are many? 50 labels over 20,000 tweets.

    python -m benchmarks.many_labels --data FOLDER [--labels 50] [--documents 20000] [--max-model-calls 60000]

The labels are clusters of tweets (k-means of their latent topics), and the model is a logistic regression that tells
them apart. A row is a moment of the run: the first snapshot in which every label has a tested word; the first in which
every word of every table has two tests, if it has two documents; and the end. CPU seconds stand beside those on the
clock, which other work on the machine stretches; ``model`` is what the bare model takes for as many documents.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from anchorscope.asking.budget import Budget
from anchorscope.predictors import as_predictor
from anchorscope.run import Run
from anchorscope.settings import preset
from anchorscope.text.read import read_texts
from anchorscope.types import Explanation, Predictor, Snapshot
from benchmarks import written

FILE = "corona_train_3class.csv.gz"
TRAINED_ON = 8000


def classifier(texts: Sequence[str], n_labels: int) -> Predictor:
    """A model of so many labels."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    words = TfidfVectorizer(min_df=5, max_features=5000, stop_words="english")
    topics = make_pipeline(words, TruncatedSVD(n_labels, random_state=0), Normalizer()).fit_transform(texts)
    clusters = KMeans(n_labels, random_state=0, n_init=1).fit_predict(topics)
    model = make_pipeline(TfidfVectorizer(min_df=2), LogisticRegression(C=10.0, max_iter=1000, tol=1e-2))
    return as_predictor(model.fit(texts, [f"cluster {number:02}" for number in clusters]))


def has_a_test(one: Explanation) -> bool:
    """A word of the table is tested, or there is no document to test."""
    return not one.documents or any(term.tested for term in one.terms)


def is_tested(one: Explanation) -> bool:
    """Each word of the table has two tests, if it has two documents; a table without words is none."""
    return has_a_test(one) and all(term.tested >= min(2, term.occurrences) for term in one.terms)


MOMENTS: dict[str, Callable[[Explanation], bool]] = {"first table": has_a_test, "twice tested": is_tested}


def watch(predictor: Predictor, texts: Sequence[str], max_calls: float) -> list[dict[str, Any]]:
    """A row a moment."""
    documents = read_texts(texts)
    start, cpu = perf_counter(), process_time()
    rows: list[dict[str, Any]] = []

    def note(moment: str, snapshot: Snapshot) -> None:
        settled = sum(one.settled for one in snapshot.explanations.values())
        n_said = sum(one.documents > 0 for one in snapshot.explanations.values())
        told = {"labels": n_said, "seconds": perf_counter() - start, "cpu": process_time() - cpu, "settled": settled}
        rows.append({"moment": moment, "calls": snapshot.cost.predictor_texts, "round": snapshot.round, **told})
        print("  ".join(f"{name} {value}" for name, value in written.rounded(rows[-1]).items()), flush=True)

    run = Run(documents, predictor, None, preset("fast"), budget=Budget(max_model_calls=max_calls))
    waiting = dict(MOMENTS)
    for snapshot in run.snapshots():
        for moment in [name for name, holds in waiting.items() if all(map(holds, snapshot.explanations.values()))]:
            del waiting[moment]
            note(moment, snapshot)
    note("end", snapshot)
    return rows


def main() -> None:
    """Train, race, write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--max-model-calls", type=float, default=float("inf"))
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with gzip.open(arguments.data / FILE, "rt", encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    predictor = classifier(texts[-TRAINED_ON:], arguments.labels)
    explained = texts[: arguments.documents]
    begun = process_time()
    predictor.predict(explained)
    bare = process_time() - begun
    rows = watch(predictor, explained, arguments.max_model_calls)
    for row in rows:
        row["model"] = bare * row["calls"] / len(explained)
    print(written.write("many_labels", arguments, rows))


if __name__ == "__main__":
    main()
