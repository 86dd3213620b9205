"""The trial of static int8: is it 1.5 times as fast, and does it still propose the same words?

    python -m training.quantise MODEL_FLOAT32.onnx VOCABULARY LINES OUT.onnx [--keep lin2]

Quantises every product with weights (8-bit weights by column, 8-bit activations with ranges from calibration lines; QDQ
nodes, so onnxruntime runs integer kernels) and leaves embedding, attention, norms and the search for words in float32.
`training.check_export` and `training.throughput` then measure OUT beside the other precisions. Dynamic int8 is no
candidate: its ranges come from the batch, so a text would get another answer among other texts.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

from training.evaluate import mask_line
from training.proposals import feed
from training.wordpiece import Vocabulary

N_BATCHES = 16
BATCH = 32


class HalfMasked(CalibrationDataReader):
    """Batches of lines with half of their words masked."""

    def __init__(self, lines: list[str], vocabulary: Vocabulary) -> None:
        windows = [
            next(mask_line(line, vocabulary, rate=0.5, window=128, seed=1, number=number)).pieces
            for number, line in enumerate(lines[: N_BATCHES * BATCH])
        ]
        self._batches: Iterator[dict[str, np.ndarray]] = (
            feed(windows[start : start + BATCH], 10) for start in range(0, len(windows), BATCH)
        )

    def get_next(self) -> dict[str, np.ndarray] | None:
        """The next batch, as the quantiser asks for it."""
        return next(self._batches, None)


def quantise(model: Path, lines: list[str], vocabulary: Vocabulary, out: Path, kept: list[str]) -> None:
    """Writes the int8 model; products whose name ends with one of `kept` stay in float32."""
    with tempfile.TemporaryDirectory() as folder:
        folded = Path(folder) / "folded.onnx"
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(folded)
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [node.name for node in onnx.load(folded).graph.node if node.op_type == "Gemm"]
        quantize_static(
            folded,
            out,
            HalfMasked(lines, vocabulary),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=["Gemm"],
            nodes_to_exclude=[name for name in names if name.endswith(tuple(kept))],
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
            extra_options={"OpTypesToExcludeOutputQuantization": ["Gemm"]},  # logits of 8 bits would tie
        )


def main() -> None:
    """Quantises one model."""
    from training.prepare import read_lines

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--keep", nargs="*", default=[], help="ends of names of products to leave in float32: lin2")
    arguments = parser.parse_args()
    vocabulary = Vocabulary.read(arguments.vocabulary)
    lines = read_lines(arguments.lines)
    every = max(1, len(lines) // (N_BATCHES * BATCH))
    quantise(arguments.model, lines[::every], vocabulary, arguments.out, arguments.keep)


if __name__ == "__main__":
    main()
