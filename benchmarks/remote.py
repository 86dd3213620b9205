"""How fast is a model behind HTTP asked, and does a bad connection change the result?

    python -m benchmarks.remote

A stand-in server in a process of its own takes 50 ms a request. First without faults: the rate with 1 and with 32
requests in flight. Then with 20% faults (429s and dropped connections in equal parts): a whole run over film reviews,
beside the same run with the model in this process; what was asked, answered, and answered twice.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from anchorscope import Explainer
from anchorscope.demo import reviews
from anchorscope.predictors import load_predictor
from anchorscope.predictors.remote.options import RemoteOptions
from anchorscope.testing import WeightPredictor
from anchorscope.testing.server import Faults, StandInServer
from benchmarks.written import write

DELAY = 0.05
MODEL = WeightPredictor({"great": 2.0, "best": 1.5, "funny": 1.0, "bad": -2.0, "too": -1.0, "dull": -1.5}, bias=0.1)


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--out", type=Path, help="where to write, instead of docs/data")
    given = parser.parse_args()
    if given.serve is not None:
        return serve(given.serve)
    one, many, cpu = rates()
    found = {
        "texts a second, 1 in flight": one,
        "texts a second, 32 in flight": many,
        "share of 32 times the single rate": many / (32 * one),
        "milliseconds of a core a request": 1000 * cpu,
        **shaky_run(given.documents),
    }
    for name, value in found.items():
        print(f"{name:40}{value:>12.5g}")
    write("remote", given, [{"figure": name, "value": value} for name, value in found.items()])
    return 0


def serve(faults: float) -> int:
    """The stand-in; its address is its first line, what it counted its last, once its input ends."""
    broken = Faults(too_many=faults / 2, dropped=faults / 2)
    with StandInServer(MODEL, "torchserve", delay=DELAY, faults=broken) as server:
        print(server.url, flush=True)
        sys.stdin.read()
    counted = {
        "texts asked": sum(server.asked.values()),
        "texts answered": sum(server.answered.values()),
        "answered twice": sum(n > 1 for n in server.answered.values()),
    }
    print(json.dumps(counted), flush=True)
    return 0


class Serving:
    """A stand-in in a process of its own."""

    def __init__(self, faults: float) -> None:
        command = [sys.executable, "-m", "benchmarks.remote", "--serve", str(faults)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def counted(self) -> dict[str, int]:
        """End it, and read what it counted."""
        counted: dict[str, int] = json.loads(self._process.communicate("")[0])
        return counted


class Asking:
    """A server without faults, asked with so many requests in flight."""

    def __init__(self, concurrency: int, n_texts: int) -> None:
        self._server = Serving(0.0)
        self._n_texts = n_texts
        remote = RemoteOptions(api="torchserve", concurrency=concurrency)
        self._predictor = load_predictor(self._server.url, labels=MODEL.labels, remote=remote)
        self._predictor.predict([f"warm {number}" for number in range(concurrency)])

    def rate(self, trial: int) -> tuple[float, float]:
        """Texts a second, and seconds that this process computed for each."""
        texts = [f"a great film {trial} {number}" for number in range(self._n_texts)]
        start, used = time.perf_counter(), time.process_time()
        self._predictor.predict(texts)
        return self._n_texts / (time.perf_counter() - start), (time.process_time() - used) / self._n_texts

    def close(self) -> None:
        """End the server."""
        self._server.counted()


def rates(n_trials: int = 8) -> tuple[float, float, float]:
    """Texts a second with 1 and with 32 in flight, and the seconds of a core that a text takes on this side.

    Other work on the machine slows both down, so they are measured in turn, and the best of each counts.
    """
    one, many = Asking(1, 20), Asking(32, 1600)
    pairs = [(one.rate(trial), many.rate(trial)) for trial in range(n_trials)]
    one.close()
    many.close()
    return max(a[0] for a, _ in pairs), max(b[0] for _, b in pairs), min(b[1] for _, b in pairs)


def shaky_run(n_documents: int) -> dict[str, Any]:
    """A run over a server with 20% faults, within a budget, beside that of the local model."""
    texts = list(reviews(seed=0)[1].texts[:n_documents])
    expected = Explainer(MODEL, top_k=10).explain(texts)
    server = Serving(0.2)
    remote = RemoteOptions(api="torchserve", concurrency=32)
    predictor = load_predictor(server.url, labels=MODEL.labels, remote=remote)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ANCHORSCOPE_CACHE"] = folder
        found = Explainer(predictor, top_k=10, max_model_calls=100_000).explain(texts)
    os.environ["ANCHORSCOPE_CACHE"] = "off"
    return {
        "20% faults: seconds": time.perf_counter() - start,
        "same result": found.to_dict()["labels"] == expected.to_dict()["labels"],
        "texts by the meter": found.cost.predictor_texts,
        **server.counted(),
    }


if __name__ == "__main__":
    sys.exit(main())
