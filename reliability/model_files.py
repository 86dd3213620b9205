"""Malicious model files of each kind: does any code of theirs run?

Each file or folder would write a canary if a single line of it were run. It is given to the command line as ``--model``
(or ``--perturbator``), in a process of its own, without any permission. The command must refuse with exit status 2 and
one sentence, and there must be no canary. To show that the canaries can sing, the pickles are loaded once on purpose.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import types
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from reliability.tables import Study, options

PIPE = "pipe"
"""A pipe outside of every folder; whoever opens it is seen."""

NAMED = "elsewhere in"
"""Part of the name of a kind whose option has to be named in the refusal."""

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Payload:
    """What a pickle runs when it is read."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.canary}",)


def pickled(folder: Path, canary: Path, name: str) -> str:
    """A pickle under some name."""
    (folder / name).write_bytes(pickle.dumps(Payload(canary)))
    return name


def skops_function(folder: Path, canary: Path) -> str:
    """A step of a pipeline that hands its input to os.system."""
    from sklearn.preprocessing import FunctionTransformer
    from skops import io

    io.dump(FunctionTransformer(os.system), folder / "model.skops")
    return "model.skops"


def skops_type(folder: Path, canary: Path) -> str:
    """An object of a class in a module beside the file, which sings when it is imported."""
    from skops import io

    code = f"open({str(canary)!r}, 'w').close()\nclass Model:\n    classes_ = ['a', 'b']\n"
    module = sys.modules["evil"] = types.ModuleType("evil")
    exec(code.partition("\n")[2], module.__dict__)
    module.Model.__module__ = "evil"
    io.dump(module.Model(), folder / "model.skops")
    del sys.modules["evil"]
    (folder / "evil.py").write_text(code)
    return "model.skops"


def skops_call(folder: Path, canary: Path) -> str:
    """A trusted type in name, whose description asks for os.system to be called."""
    from sklearn.linear_model import LogisticRegression
    from skops import io

    name = skops_function(folder, canary)
    with zipfile.ZipFile(folder / name) as archive:
        schema = json.loads(archive.read("schema.json"))
    io.dump(LogisticRegression(), folder / name)
    with zipfile.ZipFile(folder / name) as archive:
        trusted = json.loads(archive.read("schema.json"))
    inner = schema["content"]["content"]["func"]
    trusted["content"]["content"]["C"] = {
        **inner,
        "__class__": "LogisticRegression",
        "__module__": "sklearn.linear_model",
    }
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("schema.json", json.dumps(trusted))
        archive.writestr("payload.pkl", pickle.dumps(Payload(canary)))
    return name


def config(folder: Path, **more: Any) -> None:
    """The configuration of a Hugging Face folder."""
    values = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "vocab_size": 10, **more}
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *"abcde"]))


def only_bin(folder: Path, canary: Path) -> str:
    """Weights as a pickle and nothing else."""
    (folder / "hf").mkdir()
    config(folder / "hf")
    pickled(folder / "hf", canary, "pytorch_model.bin")
    return "hf"


def remote_code(folder: Path, canary: Path) -> str:
    """A configuration that names code in the folder, beside real safetensors."""
    import torch
    from safetensors.torch import save_file

    (folder / "hf").mkdir()
    mapped = {"AutoConfig": "evil.Config", "AutoModelForSequenceClassification": "evil.Model"}
    config(folder / "hf", model_type="evil", auto_map=mapped)
    code = f"open({str(canary)!r}, 'w').close()\nclass Config: pass\nclass Model: pass\nclass Tokenizer: pass\n"
    (folder / "hf" / "evil.py").write_text(code)
    tokenizer = {"auto_map": {"AutoTokenizer": ["evil.Tokenizer", None]}}
    (folder / "hf" / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    save_file({"classifier.weight": torch.zeros(2, 2)}, folder / "hf" / "model.safetensors")
    return "hf"


def other_configuration(folder: Path, canary: Path) -> str:
    """The same in a second configuration, which the first one names."""
    name = remote_code(folder, canary)
    (folder / name / "config.json").rename(folder / name / "config.4.0.0.json")
    (folder / name / "tokenizer_config.json").unlink()
    config(folder / name, configuration_files=["config.4.0.0.json"])
    return name


def names_a_file(folder: Path, canary: Path, option: str, name: str) -> str:
    """Real safetensors, and an option that names a file elsewhere: a pipe, so that it is seen who opens it."""
    made = remote_code(folder, canary)
    (folder / made / "evil.py").unlink()
    more = {option: str(canary.with_name(PIPE))}
    config(folder / made, **(more if name == "config.json" else {}))
    options_ = {"tokenizer_class": "BertTokenizer", **(more if name == "tokenizer_config.json" else {})}
    (folder / made / "tokenizer_config.json").write_text(json.dumps(options_))
    return made


def pickle_as_safetensors(folder: Path, canary: Path) -> str:
    """A pickle under the name of safetensors."""
    (folder / "hf").mkdir()
    config(folder / "hf")
    pickled(folder / "hf", canary, "model.safetensors")
    return "hf"


def custom_generate(folder: Path, canary: Path) -> str:
    """A masked language model with code beside it, as a perturbator."""
    name = remote_code(folder, canary)
    return f"masked-lm:{name}"


def onnx_outside(folder: Path, canary: Path) -> str:
    """An ONNX file whose weights are said to lie outside its folder."""
    import onnx
    from onnx import TensorProto, helper

    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "../../../../../../../../etc/passwd"), ("offset", "0"), ("length", "16")):
        weights.external_data.add(key=key, value=value)
    output = helper.make_tensor_value_info("out", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["out"])], "g", [], [output], [weights])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "tokenizer.json").write_text("{}")
    assert onnx.load(folder / "model.onnx", load_external_data=False)
    return "model.onnx"


def onnx_disguised(folder: Path, canary: Path) -> str:
    """The same, the length of a name written with a byte more than it needs; so it is not found by its bytes."""
    import onnx

    entry = b"\x0a\x88\x00location\x12\x0b/etc/passwd"
    tensor = b"\x08\x04\x10\x01\x42\x01w\x6a" + bytes([len(entry)]) + entry + b"\x70\x01"
    graph = b"\x2a" + bytes([len(tensor)]) + tensor
    name = onnx_outside(folder, canary)
    model = onnx.load(folder / name, load_external_data=False)
    del model.graph.initializer[:]
    (folder / name).write_bytes(model.SerializeToString() + b"\x3a" + bytes([len(graph)]) + graph)
    return name


def embedded_outside(folder: Path, canary: Path) -> str:
    """The same as a masked language model of our own make; read through the library, which takes a folder."""
    onnx_outside(folder, canary)
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *"ab"]) + "\n")
    (folder / "config.json").write_text('{"max_pieces": 8}')
    return "."


FILES: dict[str, tuple[str, Callable[[Path, Path], str]]] = {
    "pickle (.pkl)": ("--model", lambda folder, canary: pickled(folder, canary, "model.pkl")),
    "pickle (.pickle)": ("--model", lambda folder, canary: pickled(folder, canary, "model.pickle")),
    "joblib": ("--model", lambda folder, canary: pickled(folder, canary, "model.joblib")),
    "pickle named .skops": ("--model", lambda folder, canary: pickled(folder, canary, "model.skops")),
    "pickle named .onnx": ("--model", lambda folder, canary: pickled(folder, canary, "model.onnx")),
    "pickle without a suffix": ("--model", lambda folder, canary: pickled(folder, canary, "model")),
    "skops with a function, os.system": ("--model", skops_function),
    "skops with a type of its own": ("--model", skops_type),
    "skops with os.system in disguise": ("--model", skops_call),
    "Hugging Face, .bin only": ("--model", only_bin),
    "Hugging Face, auto_map": ("--model", remote_code),
    "Hugging Face, auto_map in another configuration": ("--model", other_configuration),
    "Hugging Face, pickle as safetensors": ("--model", pickle_as_safetensors),
    **{
        f"Hugging Face, {option} {NAMED} {name}": ("--model", partial(names_a_file, option=option, name=name))
        for option in ("gguf_file", "tokenizer_file", "vocab_file")
        for name in ("config.json", "tokenizer_config.json")
    },
    "masked-lm, .bin only": ("--perturbator", lambda folder, canary: f"masked-lm:{only_bin(folder, canary)}"),
    "masked-lm, auto_map": ("--perturbator", custom_generate),
    "ONNX, external data outside": ("--model", onnx_outside),
    "ONNX, external data in disguise": ("--model", onnx_disguised),
    "embedded model, external data outside": ("library", embedded_outside),
}

EMBEDDED = """
from pathlib import Path
from anchorscope.perturbators.embedded import EmbeddedPerturbator
from anchorscope.text.words import split
import numpy as np
words = split("a b")
print(EmbeddedPerturbator(folder=Path(".")).propose([words], [np.array([True, False])]))
"""


def main() -> int:
    """Run the study."""
    given = options(__doc__).parse_args()
    study = Study(
        "model_files",
        "malicious model files of each kind",
        "no code runs, no file elsewhere is opened",
        given.seed,
        not given.in_full,
    )
    for kind, (option, make) in FILES.items():
        if given.quick and ("Hugging Face" in kind or "masked-lm" in kind):
            continue  # torch takes seconds to import
        with tempfile.TemporaryDirectory(prefix="anchorscope-files-") as scratch:
            row = load(Path(scratch), option, make)
            if NAMED in kind:  # before anything is loaded: which versions and packages would open it is not our concern
                row["refused"] &= f"sets {kind.split()[2]!r}" in row["said"]
            study.add(kind=kind, **row)
    sings = canary_sings()
    n_silent = sum(not row["ran"] for row in study.rows)
    n_refused = sum(row["refused"] for row in study.rows)
    n = len(study.rows)
    return study.end(
        reached=n_silent == n_refused == n and sings,
        found=f"{n_silent} of {n} ran no code and opened nothing elsewhere; {n_refused} of {n} were refused with one "
        f"sentence; the canary {'sings' if sings else 'DOES NOT SING'} where a pickle is loaded on purpose",
    )


def load(scratch: Path, option: str, make: Callable[[Path, Path], str]) -> dict[str, Any]:
    """What the command does with a file."""
    canary = scratch / "canary"
    folder = scratch / "models"
    folder.mkdir()
    os.mkfifo(canary.with_name(PIPE))
    spec = make(folder, canary)
    (folder / "docs.csv").write_text("text\na b c\na b d\n")
    (folder / "known.py").write_text("def model(texts): return [[0.5, 0.5]] * len(texts)\n")
    if option == "library":
        command = [sys.executable, "-c", EMBEDDED]
    else:
        with_model = ["--model", "known:model", "--labels", "a,b", "--preset", "banzhaf"] if option != "--model" else []
        options_ = [*with_model, option, spec, "--out", str(scratch / "run")]
        command = [sys.executable, "-m", "anchorscope.cli", "explain", "docs.csv", *options_]
    status, printed, told, opened = watched(command, folder, canary.with_name(PIPE))
    said = told.strip().splitlines()
    refused = status == 2 and said[-1].startswith("anchorscope: error:")
    if option == "library":  # an exception of onnxruntime is a refusal, too; passwd must not be in the answer
        refused = status != 0 and "root:" not in printed
    last = said[-1].replace(str(scratch), "")[:250] if said else ""
    return {"ran": canary.exists() or opened, "refused": refused, "said": last}


def watched(command: list[str], folder: Path, pipe: Path) -> tuple[int, str, str, bool]:
    """Exit status, output and messages of a command, and whether it opened the pipe: it has to wait for a writer."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=messages)
        opened = False
        while process.poll() is None:
            with suppress(OSError):  # nobody reads it
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                opened = True
            time.sleep(0.02)
        said = []
        for file in (output, messages):
            file.seek(0)
            said.append(file.read())
    return process.returncode, said[0], said[1], opened


def canary_sings() -> bool:
    """Whether the payload would show."""
    with tempfile.TemporaryDirectory() as scratch:
        canary = Path(scratch) / "canary"
        pickle.load(io.BytesIO(pickle.dumps(Payload(canary))))
        return canary.exists()


if __name__ == "__main__":
    raise SystemExit(main())
