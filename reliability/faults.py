"""A model that fails in a share of its calls: is the result the same, and how many calls does it take?

The demo's classifier fails at random: timeouts, connections that are reset, rate limits that ask for half a second,
errors of classes of its own. Waits are taken note of instead of slept. Two rows more: calls that really hang and are
given up after a tenth of a second, and a memory that holds no more than 64 texts.
"""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anchorscope.asking.retry import Retry, RetryingPredictor
from anchorscope.run import Run
from anchorscope.settings import Settings
from anchorscope.text.read import read_files
from reliability.models import FOLDER, Counted
from reliability.tables import Study, options
from reliability.work import Work

SETTINGS = Settings(strategy="scan", round_size=2, top_k=10)

SEEDS = 4
"""Runs for each share of failing calls: which calls fail is chance, and some 500 calls are few."""


class RateLimitError(Exception):
    """Says when to come back."""

    retry_after = 0.5


class OverloadedError(Exception):
    """Derives from nothing that Python knows."""


class Failing(Counted):
    """Fails in a share of its calls; or hangs in them; or on batches that are too large."""

    def __init__(self, *, share: float = 0.0, hangs: bool = False, holds: int = 10**9, seed: int = 0) -> None:
        super().__init__()
        self.share, self.hangs, self.holds, self.chances = share, hangs, holds, random.Random(seed)
        self.n_calls = self.n_failed = 0

    def predict(self, texts: Sequence[str]) -> Any:
        """Probabilities, or a bad moment."""
        self.n_calls += 1
        if len(texts) > self.holds:
            self.n_failed += 1
            raise MemoryError
        if self.chances.random() < self.share:
            self.n_failed += 1
            if self.hangs:
                threading.Event().wait(5)
            kinds = [TimeoutError("no answer"), ConnectionResetError("reset"), RateLimitError(), OverloadedError("503")]
            raise self.chances.choice(kinds)
        return super().predict(texts)


def main() -> int:
    """Run the study."""
    given = options(__doc__, documents=1000).parse_args()
    study = Study(
        "faults",
        "a predictor failing at 1%, 5%, 20% of its calls, timeouts, rate limits",
        "the same result as without faults; at most 1.1/(1-p) calls",
        given.seed,
        not given.in_full,
    )
    with tempfile.TemporaryDirectory(prefix="anchorscope-faults-") as scratch:
        return compare(study, Path(scratch), 60 if given.quick else given.documents)


def compare(study: Study, scratch: Path, n_documents: int) -> int:
    """The result of each way to fail against the one without faults."""
    work = Work.make(scratch / "work", n_documents)
    os.environ[FOLDER] = str(work.folder)
    steady = Failing()
    expected, _ = explain(work, steady, Retry())
    reached = True
    for share in (0.01, 0.05, 0.2):
        calls, retries, waits, same = 0, 0, list[float](), True
        for number in range(SEEDS):
            model = Failing(share=share, seed=study.seed + number)
            found, kept = explain(work, model, Retry(sleep=waits.append))
            calls, retries, same = calls + model.n_calls, retries + kept.n_retries, same and found == expected
        without = SEEDS * steady.n_calls
        limit = 1.1 / (1 - share) if not study.quick else 2.0  # a quick study has few calls
        reached &= same and calls / without <= limit
        study.add(
            fails=f"{share:.0%} of calls",
            same=same,
            calls=calls,
            without=without,
            ratio=round(calls / without, 4),
            limit=round(limit, 4),
            waited=round(sum(waits), 1),
            retries=retries,
        )
    ways = {
        "2% of calls hang, timeout 0.1 s": (Failing(share=0.02, hangs=True, seed=1), Retry(timeout=0.1)),
        "no memory for more than 64 texts": (Failing(holds=64), Retry()),
    }
    for way, (model, retry) in ways.items():
        found, kept = explain(work, model, retry)
        reached &= found == expected
        study.add(fails=way, same=found == expected, calls=model.n_calls, without=steady.n_calls, failed=model.n_failed)
    return study.end(
        reached=reached,
        found="; ".join(
            f"{row['fails']}: {'same' if row['same'] else 'OTHER'} result, {row['calls'] / row['without']:.3f} x calls"
            for row in study.rows
        ),
    )


def explain(work: Work, model: Failing, retry: Retry) -> tuple[dict[str, Any], RetryingPredictor]:
    """What a run over the model finds, but for its cost."""
    retrying = RetryingPredictor(model, retry)
    run = Run(read_files(work.folder / "reviews.csv"), retrying, None, SETTINGS)
    for _ in run.snapshots():
        pass
    values = run.result().to_dict()
    del values["cost"]
    return values, retrying


if __name__ == "__main__":
    raise SystemExit(main())
