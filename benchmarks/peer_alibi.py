"""alibi 0.9.6: ``AnchorText`` as it is, one explanation a document, masks filled by the folder's masked language model.

    python -m benchmarks.peer_alibi FOLDER ANSWER.json                             in the environment of alibi

It searches a single anchor of one or more words a document, and does not judge the other tokens: the words of the
anchor count as anchors, the other candidates of the document as none. Parameters are its own (threshold 0.95, delta
0.1, parallel filling, a mask for every tenth sample), except that fills are drawn by their probability, as everywhere
else here, and that its 10,000 extra samples to estimate a coverage, which nothing here reads, are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.peer_folder import Judged, Meter, read_task, write_answer


def anchors_among(document: Judged, names: list[str]) -> set[int]:
    """The positions to judge whose word is one of an anchor's words.

    >>> anchors_among(Judged("Good , good film", ["Good", ",", "good", "film"], [0, 3]), [" good"])
    {0}
    """
    wanted = {name.strip().lower() for name in names}
    return {position for position in document.positions if document.words[position].lower() in wanted}


def language_model(folder: Path) -> Any:
    """The folder's masked language model as alibi wants it; counts passes."""
    import tensorflow as tf
    from alibi.utils.lang_model import DistilbertBaseUncased

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    class Model(DistilbertBaseUncased):
        n_passes = 0

        def predict_batch_lm(self, x: Any, vocab_size: int, batch_size: int) -> Any:
            self.n_passes += len(x["input_ids"])
            return super().predict_batch_lm(x, vocab_size, batch_size)

    model = Model(preloading=False)
    model.from_disk(folder.parent / "mlm")
    return model


def main() -> None:
    """Explain every document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("answer", type=Path)
    arguments = parser.parse_args()
    from alibi.explainers import AnchorText

    documents, classifier = read_task(arguments.folder)
    model = language_model(arguments.folder)
    strategy = {"sampling_strategy": "language_model", "language_model": model, "use_proba": True}
    explainer = AnchorText(predictor=classifier.predict, seed=0, **strategy)
    classifier.n_texts = 0
    verdicts = []
    with Meter() as meter:
        for number, document in enumerate(documents):
            found = anchors_among(document, explainer.explain(document.text, coverage_samples=1).anchor)
            verdicts += [[number, position, position in found] for position in document.positions]
    write_answer(arguments.answer, meter, texts=classifier.n_texts, passes=model.n_passes, verdicts=verdicts)


if __name__ == "__main__":
    main()
