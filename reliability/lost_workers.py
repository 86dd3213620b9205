"""Ray: a worker is killed every ten seconds, and a whole node once: is any unit lost, or counted twice?

A cluster of a head and three nodes is started on this machine (``ray.cluster_utils``), and joined by its address. Two
replicas of a slow model measure a scan of reviews on it. Every ten seconds one of them is killed (SIGKILL), and in the
middle of the run the node of one of them goes, with all that it holds. The result must be that of one undisturbed
process, to the last bit; so must the number of tests that were counted.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

from anchorscope import Explainer
from anchorscope.demo import reviews
from anchorscope.result import Result
from anchorscope.testing import WeightPredictor
from reliability.tables import Study, options

WEIGHTS = {"great": 2.0, "best": 1.5, "good": 0.8, "bad": -2.0, "worst": -2.5, "boring": -1.5, "not": -0.5}


class Slow(WeightPredictor):
    """Takes its time, and leaves a file for every process and node that asks it."""

    def __init__(self, notes: Path, milliseconds: float) -> None:
        super().__init__(WEIGHTS)
        self.notes = notes
        self.milliseconds = milliseconds

    def predict(self, texts: Sequence[str]) -> Any:
        """Probabilities."""
        (self.notes / str(os.getpid())).write_text(os.environ.get("RAY_NODE_ID", ""), encoding="utf-8")
        sleep(self.milliseconds * len(texts) / 1000)
        return super().predict(texts)


class Killer(Thread):
    """Kills a worker every so many seconds, and, after so many kills, the node of the next."""

    def __init__(self, study: Study, cluster: Any, notes: Path, seconds: float, node_after: int) -> None:
        super().__init__(daemon=True)
        self.study = study
        self.cluster = cluster
        self.notes = notes
        self.seconds = seconds
        self.node_after = node_after
        self.n_workers = 0
        self.n_nodes = 0
        self.stopped = Event()
        self.chances = random.Random(study.seed)

    def run(self) -> None:
        """Kill until the run has ended."""
        begun = monotonic()
        while not self.stopped.wait(self.seconds):
            alive = [path for path in self.notes.iterdir() if self._is_worker(path)]
            if not alive:
                continue
            chosen = self.chances.choice(sorted(alive))
            is_node = self.n_nodes == 0 and self.n_workers >= self.node_after
            if is_node:
                self._kill_node(chosen.read_text(encoding="utf-8"))
                self.n_nodes += 1
            else:
                os.kill(int(chosen.name), signal.SIGKILL)
                self.n_workers += 1
            self.study.add(second=round(monotonic() - begun), killed="node" if is_node else "worker")

    def _is_worker(self, path: Path) -> bool:
        return path.name != str(os.getpid()) and Path("/proc", path.name).exists()

    def _kill_node(self, node_id: str) -> None:
        for node in [*self.cluster.worker_nodes]:
            if node.node_id == node_id:
                self.cluster.remove_node(node, allow_graceful=False)


def explained(texts: Sequence[str], model: Slow, **given: Any) -> Result:
    """A scan of the texts."""
    settings = {"strategy": "scan", "round_size": 200, "min_occurrences": 5, "stop_words": "nltk"}
    return Explainer(model, settings=settings, **given).explain(texts)


def main() -> int:
    """Run the study."""
    given = options(__doc__, documents=1500, milliseconds=40.0, seconds=10.0).parse_args()
    study = Study(
        "lost_workers",
        "Ray: a worker killed every ten seconds, and a node once",
        "no unit lost or counted twice: the result of one undisturbed process",
        given.seed,
        not given.in_full,
    )
    texts = reviews(seed=0)[1].texts[: 150 if given.quick else given.documents]
    with tempfile.TemporaryDirectory(prefix="anchorscope-lost-") as scratch:
        alone = explained(texts, Slow(Path(scratch), 0.0))
        notes = Path(scratch, "notes")
        notes.mkdir()
        return disturbed(study, texts, alone, Slow(notes, given.milliseconds), 3.0 if given.quick else given.seconds)


def disturbed(study: Study, texts: Sequence[str], alone: Result, model: Slow, seconds: float) -> int:
    """The same on a cluster that loses its workers."""
    from ray.cluster_utils import Cluster

    logging.getLogger("ray").setLevel(logging.ERROR)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(3):
        cluster.add_node(num_cpus=1)
    killer = Killer(study, cluster, model.notes, seconds, node_after=1 if study.quick else 3)
    begun = monotonic()
    try:
        killer.start()
        found = explained(texts, model, backend=f"ray:{cluster.address}", workers=2)
    finally:
        killer.stopped.set()
        killer.join()
        with suppress(Exception):
            cluster.shutdown()
    same = without_cost(found) == without_cost(alone) and found.cost.tests == alone.cost.tests
    return study.end(
        reached=same and killer.n_nodes == 1 and killer.n_workers > 0,
        found=f"{killer.n_workers} workers and {killer.n_nodes} node killed in {monotonic() - begun:.0f} s; "
        f"{'the same' if same else 'ANOTHER'} result, {found.cost.tests:,} tests counted of {alone.cost.tests:,}",
    )


def without_cost(result: Result) -> dict[str, Any]:
    """All of a result but its cost."""
    return {key: value for key, value in result.to_dict().items() if key != "cost"}


if __name__ == "__main__":
    raise SystemExit(main())
