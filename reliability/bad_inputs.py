"""Bad input of every kind: is the answer one sentence, and the exit status 2?

Documents that are not what they say, options out of range, models that cannot be explained, folders and files in the
wrong place, closed streams. Each is given to the command line, in this process; where streams are closed or workers
started, in one of its own. The command must end with status 2 (1 where its time is up, or the model has answered about
documents) and one line on the error output that says what was wrong and never that this should not happen; it must
print nothing else, and leave no run folder behind.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tempfile
import zipfile
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from anchorscope import cli
from reliability.tables import ROOT, Study, options

TEXTS = ("a great film", "a bad film", "great great cast", "bad plot", "so great so bad", "film and cast", "a plot")
MODEL = ("--model", "reliability.models:keywords", "--labels", "no,yes")
PLAIN = ("--preset", "banzhaf", "--perturbator", "corpus", "--min-occurrences", "1", "-q")
EXPLAIN = ("explain", "good.csv", *MODEL, *PLAIN)
PACK: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@dataclass(frozen=True, slots=True)
class Case:
    """A command that is bad; ``closed`` are streams that it finds closed, ``status`` is what it ends with."""

    arguments: Sequence[str]
    closed: Sequence[int] = ()
    alone: bool = False
    status: int = 2

    @property
    def needs_process(self) -> bool:
        """Whether it has to be tried in a process of its own."""
        return bool(self.closed) or self.alone


def make_files(folder: Path) -> None:
    """Every file that the cases name, in one folder; and a sound run."""
    table = "text,label\n" + "".join(f"{text},x\n" for text in TEXTS)
    _write(folder, "good.csv", table.encode())
    for name, data in documents(table.encode()).items():
        _write(folder, name, data)
    _write(folder, "model.pkl", b"\x80\x04N.")
    _write(folder, "cut.joblib", b"\x80\x04\x95\xff")
    _write(folder, "model.onnx", b"\x08\x07")
    _write(folder, "junk.skops", b"PK\x03\x04 and no more")
    _write(folder, "exiting.py", b"import sys\nsys.exit(0)\n")
    _write(folder, "failing.py", b"1 / 0\n")
    _write(folder, "unwritten.py", b"def f(:\n")
    _write(folder, "empty_hf/README.md", b"nothing")
    config = {"model_type": "bert", "auto_map": {"AutoConfig": "evil.Config"}}
    _write(folder, "hf/config.json", json.dumps(config).encode())
    make_model_files(folder)
    os.mkfifo(folder / "pipe.html")
    (folder / "link.html").symlink_to("good.csv")
    with redirect_stdout(io.StringIO()):
        assert cli.main([*EXPLAIN, "--out", "run"]) == 0


def make_model_files(folder: Path) -> None:
    """Models that would take for ever, fill the memory, or lead elsewhere."""
    weights = b"\x02" + bytes(7) + b"{}"
    for name, option in (
        ("layers_hf", {"num_hidden_layers": 10**5}),
        ("labels_hf", {"num_labels": 10**9}),
        ("other_hf", {"configuration_files": ["x.json"]}),
    ):
        _write(folder, f"{name}/config.json", json.dumps({"model_type": "bert", **option}).encode())
        _write(folder, f"{name}/model.safetensors", weights)
    for name, config in (("deep_onnx", "[" * 10**5), ("long_onnx", '{"max_position_embeddings": 1%s}' % ("0" * 30))):
        _write(folder, f"{name}/model.onnx", b"")
        _write(folder, f"{name}/tokenizer.json", b"{}")
        _write(folder, f"{name}/config.json", config.encode())
    _write(folder, "doubling_onnx/model.onnx", doubling_onnx(40))
    _write(folder, "doubling_onnx/tokenizer.json", b"{}")
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    table = {"type": "Precompiled", "precompiled_charsmap": b64encode(b"\xff\0\0\0abcd").decode()}
    normalizers = {"growing": {"type": "Sequence", "normalizers": [step] * 40}, "torn": table}
    for begin, normalizer in normalizers.items():
        tokenizer = json.dumps({"version": "1.0", "model": {"type": "Unigram", "vocab": []}, "normalizer": normalizer})
        for end, files in (("hf", {"config.json": b"{}", "model.safetensors": weights}), ("onnx", {})):
            for file, data in {"model.onnx": doubling_onnx(1), **files, "tokenizer.json": tokenizer.encode()}.items():
                _write(folder, f"{begin}_{end}/{file}", data)
    with zipfile.ZipFile(folder / "bomb.skops", "w") as archive:
        archive.writestr("schema.json", "{}")
        archive.infolist()[0].file_size = 5 << 30  # as the directory says
    os.mkfifo(folder / "pipe.skops")
    os.mkfifo(folder / "pipe.onnx")


def doubling_onnx(n_functions: int) -> bytes:
    """An ONNX file in which each function calls the next one twice: 2^n nodes for whoever writes them out."""
    from onnx import TensorProto, helper

    imported = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    functions = []
    for number in range(n_functions):
        last = number == n_functions - 1
        called = {"op_type": "Identity"} if last else {"op_type": f"F{number + 1}", "domain": "local"}
        nodes = [
            helper.make_node(inputs=[before], outputs=[after], **called) for before, after in (("x", "m"), ("m", "y"))
        ]
        functions.append(helper.make_function("local", f"F{number}", ["x"], ["y"], nodes, imported))
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "l"]) for name in ("input_ids", "logits")]
    call = helper.make_node("F0", ["input_ids"], ["logits"], domain="local")
    graph = helper.make_graph([call], "g", values[:1], values[1:])
    model = helper.make_model(graph, ir_version=8, opset_imports=imported, functions=functions)
    return bytes(model.SerializeToString())


def documents(table: bytes) -> dict[str, bytes]:
    """Files of documents, none of which can be read as it stands."""
    packed = {f"junk.csv.{end}": pack(table) + b"junk" for end, pack in PACK.items()}
    cut = {f"cut.csv.{end}": pack(table)[:-9] for end, pack in PACK.items()}
    not_packed = {f"plain.csv.{end}": table for end in (*PACK, "zst")}
    bombs = {f"bomb.csv.{end}": pack(b"text\n" + bytes(3_000_000)) for end, pack in PACK.items()}
    return {
        **packed,
        **cut,
        **not_packed,
        **bombs,
        **parquets(),
        "empty.csv": b"",
        "blank.csv": b"text\n  \n\n",
        "file.doc": b"a great film",
        "latin.csv": "text\ncaf\u00e9 great\n".encode("latin-1"),
        "twice.csv": b"text,text\ngreat,bad\n",
        "wide.csv": b"text,label\ngreat,a,b\n",
        "quote.csv": b'text\n"great\n',
        "twice.jsonl": b'{"text": "great", "text": "bad"}\n',
        "dotted.jsonl": b'{"a": {"text": "great"}, "a.text": "bad"}\n',
        "pair.csv": b'a,b,"a,b"\ngreat,bad,film\n',
        "broken.jsonl": b'{"text": "great"\n',
        "list.jsonl": b'["great"]\n',
        "deep.jsonl": b"[" * 100_000 + b"\n",
        "number.jsonl": b'{"text": 5}\n',
        "half.jsonl": b'{"text": "a great film", "label": "x\\ud800"}\n',
        "texts.txt": b"a great film\n",
        "named.parquet": table,
    }


def parquets() -> dict[str, bytes]:
    """Tables of pyarrow that cannot be read as documents."""
    import pyarrow
    from pyarrow import parquet

    far = pyarrow.array([2**62, 1], pyarrow.timestamp("us"))
    tables = {
        "twice.parquet": pyarrow.Table.from_arrays([["great", "a"], ["bad", "b"]], names=["text", "text"]),
        "far.parquet": pyarrow.table({"text": ["great film", "bad"], "label": far}),
        "dates.parquet": pyarrow.table({"text": [datetime(2020, 1, 1)]}),
        "lists.parquet": pyarrow.table({"text": [["great"], ["bad"]]}),
        "other.parquet": pyarrow.table({"body": ["great"]}),
        "dotted.parquet": pyarrow.table({"a": [{"text": "great"}], "a.text": ["bad"]}),
        "bomb.parquet": pyarrow.table({"text": ["great " * 100_000] * 5}),
        "bomb_of_many.parquet": pyarrow.table({"text": [f"great {n} " * 10_000 for n in range(50)]}),
    }
    found = {}
    for name, table in tables.items():
        sink = io.BytesIO()
        parquet.write_table(table, sink)
        found[name] = sink.getvalue()
    sink = io.BytesIO()
    parquet.write_table(tables["bomb_of_many.parquet"], sink, use_dictionary=False, data_page_size=1 << 30)
    found["bomb_that_lies.parquet"] = understated(sink.getvalue())
    found["contradicting.parquet"] = contradicting(found["other.parquet"], "body")
    return found


def contradicting(data: bytes, column: str) -> bytes:
    """A parquet file whose schema says that no cell is missing, and whose statistics count missing ones: asked about
    its chunks, pyarrow ends the process."""
    optional, required = (b"\x15\x0c%" + bytes([kind, 0x18, len(column)]) + column.encode() for kind in (2, 0))
    assert data.count(optional) == 1
    return data.replace(optional, required)


def understated(data: bytes) -> bytes:
    """A parquet file whose directory says of each chunk that it unpacks to one byte; its pages say what they did."""
    from pyarrow.parquet import ParquetFile

    metadata = ParquetFile(io.BytesIO(data)).metadata
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    directory = data[start:]
    for group in (metadata.row_group(number) for number in range(metadata.num_row_groups)):
        for chunk in (group.column(number) for number in range(group.num_columns)):
            told = _as_varint(2 * chunk.total_uncompressed_size)
            assert told in directory
            # One byte, written down in as many as the truth took.
            directory = directory.replace(told, bytes([2 | 128, *[128] * (len(told) - 2), 0]))
    return data[:start] + directory


def _as_varint(number: int) -> bytes:
    """Seven bits a byte, the least first; the eighth says that there are more."""
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def cases() -> dict[str, Case]:
    """Every case by name."""
    return {
        **{f"documents: {name}": case for name, case in of_documents().items()},
        **{f"option: {' '.join(given)[:60]!a}": Case([*EXPLAIN, *given]) for given in OPTIONS},
        **{f"model: {name}": case for name, case in of_models().items()},
        **{f"command: {' '.join(given)[:60]!a}": Case(given) for given in COMMANDS},
        "stream: standard input closed": Case(["explain", "-", *MODEL, *PLAIN], closed=(0,)),
        "stream: standard output closed": Case([*EXPLAIN, "--out", "new"], closed=(1,)),
        "stream: input and output closed": Case([*EXPLAIN, "--out", "new"], closed=(0, 1)),
        "stream: output closed, top": Case(["top", "run"], closed=(1,)),
        "stream: output closed, workers": Case([*EXPLAIN, "--workers", "2", "--out", "new"], closed=(0, 1)),
    }


def of_documents() -> dict[str, Case]:
    """Documents that cannot be read."""
    found = {}
    for name in documents(b"text\ngreat\n"):
        more = ("--max-unpacked", "1000000") if name.startswith("bomb") else ()
        more += ("--label-column", "label") if name in ("far.parquet", "half.jsonl") else ()
        more += ("--text-column", "body") if name in ("texts.txt", "contradicting.parquet") else ()
        more += ("--text-column", "a.text") if name.startswith("dotted") else ()
        more += ("--text-column", "a,b") if name == "pair.csv" else ()
        found[name] = Case(["explain", name, *MODEL, *PLAIN, *more])
        if name.startswith("bomb") and name.endswith(".parquet"):
            found[f"{name}, drawn"] = Case(["explain", name, "--draw", "5", *MODEL, *PLAIN, *more])
    paths = (
        "missing.csv",
        ".",
        "good.csv/x.csv",
        "a\0b.csv",
        "~nobody-here/x.csv",
        "a" * 300 + ".csv",
        "",
        "a\ud800.csv",
    )
    for path in paths:
        found[f"path {path[:20]!a}"] = Case(["explain", path, *MODEL, *PLAIN])
    for device in ("/dev/zero", "/dev/full"):
        for form in ("txt", "csv", "jsonl", "parquet"):
            found[f"{device} as {form}"] = Case(["explain", device, *MODEL, *PLAIN, "--format", form], alone=True)
    for encoding in ("utf-16", "utf-32", "hex", "nonsense", "\0"):
        found[f"encoding {encoding!a}"] = Case([*EXPLAIN, "--encoding", encoding])
    return found


OPTIONS: tuple[tuple[str, ...], ...] = (
    *(("--model-timeout", value) for value in ("inf", "nan", "0", "-1", "soon", "1e999")),
    *(("--max-seconds", value) for value in ("inf", "nan", "-1")),
    *(("--max-model-calls", value) for value in ("0", "1.5", "inf")),
    *(("--workers", value) for value in ("0", "-2", "100000", "two")),
    *(("--model-tries", value) for value in ("0", "x")),
    *(("--max-unpacked", value) for value in ("0", "1e9")),
    *(("--top-k", value) for value in ("0", "-1", "x")),
    *(("--tau", value) for value in ("2", "nan", "inf")),
    *(("--sample-documents", value) for value in ("0", "2", "nan")),
    *(("--round-size", "0"), ("--max-words", "0"), ("--seed", "x"), ("--regret", "nan"), ("--alpha", "inf")),
    *(("--preset", "slow"), ("--aggregation", "x"), ("--strategy", "x"), ("--backend", "x"), ("--reporter", "x")),
    *(("--stop-words", "x"), ("--order", "x"), ("--score", "x"), ("--clean", "x"), ("--format", "x")),
    *(("--perturbator", "x"), ("--perturbator", "a\0b"), ("--perturbator", "masked-lm:nowhere")),
    *(("--label", "maybe"), ("--labels", "no,no"), ("--labels", "no"), ("--labels", "no,y\ud800")),
    *(
        ("--out", "~nobody-here/x"),
        ("--out", ""),
        ("--out", "a\0b"),
        ("--out", "good.csv"),
        ("--out", "good.csv/run"),
        ("--out", "a" * 300),
    ),
    *(("--out", "new/a/b", "--label", "maybe"), ("--out", "a/../new", "--label", "maybe")),
    *(("--out", "run"), ("--resume",), ("--training", "missing.csv"), ("--trust", "os.system"), ("--device", "abacus")),
    *((f"{name}=--",) for name in ("--model", "--out", "--top-k", "--label", "--training", "--preset", "--device")),
    *(("--nonsense",), ("--label-column", "missing"), ("--text-column", "missing")),
)

BAD_MODELS = (
    *("no_axis", "one_axis", "three_axes", "masked", "nothing", "not_numbers", "logits", "strings", "complex_numbers"),
    *("one_row_less", "three_columns", "ragged", "other_names", "cancelled", "own_error", "generator_exit", "exits"),
    *("forks_and_exits", "turning", "a_number", "ends_when_read", "long_winded", "mute", "told_no_number"),
    *("columns_reversed", "numbered_reversed", "turning_series", "turning_tuples", "masked_rows"),
)
WITH_LABELS = (
    "half_a_character",
    "one_label",
    "same_labels",
    "a_class",
    "raising_labels",
    "fewer_than_none",
    "oddly_probed",
    "reads_files",
)


TURN_LATER = [
    name + asked
    for name in ("turning", "turning_series", "turning_tuples")
    for asked in ("", ", asked about one label")
]
"""Models that have answered about documents when their columns turn: what they said is kept, so the status is 1."""


def of_models() -> dict[str, Case]:
    """Models that cannot be loaded or explained."""
    tries = ("--model-tries", "2")
    start = ("explain", "good.csv", *PLAIN, *tries)
    found = {
        name: Case([*start, "--model", f"reliability.bad_models:{name}", "--labels", "no,yes"], alone="fork" in name)
        for name in BAD_MODELS
    }
    found |= {
        f"{name}, asked about one label": Case([*case.arguments, "--head", "yes"], alone=case.alone)
        for name, case in found.items()
    }
    found |= {name: replace(found[name], status=1) for name in TURN_LATER}
    found |= {name: Case([*start, "--model", f"reliability.bad_models:{name}"]) for name in WITH_LABELS}
    hanging = [*start, "--model", "reliability.bad_models:hangs", "--max-seconds", "1"]
    found["hangs when it is asked for its labels"] = Case(hanging, alone=True)
    found["hangs with its first documents"] = Case([*hanging, "--labels", "no,yes"], alone=True, status=1)
    found |= of_workers_and_streams(start)
    found |= of_model_files(start)
    return found


def of_workers_and_streams(start: Sequence[str]) -> dict[str, Case]:
    """Models that workers cannot have, and models that change the process they are in; each in a process of its own."""
    found = {}
    for name in ("cannot_travel", "long_farewell"):
        travel = [*start, "--model", f"reliability.bad_models:{name}", "--workers", "2"]
        found[f"{name} to workers"] = Case(travel, alone=True)
        found[f"{name} to workers, kept"] = Case([*travel, "--out", "new"], alone=True)
    for name in ("closes_streams", "closes_files", "renames_the_world", "leaves_a_thread", "takes_leave", "takes_over"):
        found[name] = Case([*start, "--model", f"reliability.bad_models:{name}", "--labels", "no,yes"], alone=True)
    return found


def of_model_files(start: Sequence[str]) -> dict[str, Case]:
    """What stands behind ``--model`` and is no model: files, folders, modules, addresses."""
    paths = (
        "missing.skops",
        "a\0b",
        "~nobody-here/x",
        "x" * 300,
        "model.pkl",
        "model.onnx",
        "junk.skops",
        "bomb.skops",
        "pipe.skops",
        "pipe.onnx",
        "deep_onnx/model.onnx",
        "long_onnx/model.onnx",
        "doubling_onnx/model.onnx",
        "growing_onnx/model.onnx",
        "growing_hf",
        "torn_onnx/model.onnx",
        "torn_hf",
        "layers_hf",
        "labels_hf",
        "other_hf",
        "good.csv",
        "",
    )
    modules = ("exiting:model", "failing:model", "unwritten:model", "no_such_module:model", "json:no_such_name")
    specs = (*paths, *modules, "hf", "empty_hf", "reliability.models:reviews.nothing")
    found = {spec[:30]: Case([*start, "--model", spec, "--labels", "no,yes"]) for spec in specs}
    for address in ("http://[::1", "http://127.0.0.1:99999/", "http://127.0.0.1:9/\x01", "https:///x"):
        found[ascii(address)] = Case([*start, "--model", address, "--api", "mlflow", "--labels", "no,yes"])
    here = ("--model", "http://127.0.0.1:9/", "--labels", "no,yes")
    found["a request in many brackets"] = Case([*start, *here, "--request", "[" * 5000, "--answer", "x"])
    found["a header of two words"] = Case([*start, *here, "--api", "mlflow", "--key-header", "my key"])
    found["cut.joblib"] = Case([*start, "--model", "cut.joblib", "--allow-pickle"])
    found["None, pickled"] = Case([*start, "--model", "model.pkl", "--allow-pickle"])
    return found


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("evaluate", "run", "--docs", "good.csv", *MODEL, "--against", "lime", "--samples", "9" * 30),
    *((), ("explian",), ("top",), ("top", "missing"), ("top", "good.csv"), ("top", "a\0b"), ("top", "a" * 300)),
    *(("top", "run", "--format", "x"), ("top", "run", "--aggregation", "x"), ("top", "run", "--label", "x")),
    *(("top", "run", "--top-k", "0"), ("compare", "run", "missing"), ("compare", "run"), ("report", "missing")),
    *(
        ("report", "run", "--to", place)
        for place in (".", "pipe.html", "link.html", "good.csv", "missing/x.html", "a\0b")
    ),
    *(("evaluate", "run"), ("evaluate", "missing"), ("evaluate", "run", "--docs", "missing.csv", *MODEL)),
    *(("evaluate", "run", "--docs", "good.csv", *MODEL, *more) for more in (("--removal", "x"), ("--against", "x"))),
    *(
        ("serve",),
        ("serve", "run", "--port", "70000"),
        ("serve", "run", "--port", "-1"),
        ("serve", "run", "--port", "x"),
    ),
    *(("serve", "missing.csv", *MODEL), ("export-mlm", "run"), ("export-mlm", "good.csv"), ("export-mlm", "a\0b")),
)


def main() -> int:
    """Run the study."""
    given = options(__doc__).parse_args()
    found = cases()
    study = Study(
        "bad_inputs",
        f"{len(found)} bad inputs: documents, options, models, places, streams",
        "each one sentence and status 2; nothing left behind",
        given.seed,
        not given.in_full,
    )
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="anchorscope-bad-") as scratch:
        os.chdir(scratch)
        try:
            make_files(Path(scratch))
            for name, case in found.items():
                if not (given.quick and case.needs_process):
                    study.add(case=name, **judged(case))
        finally:
            os.chdir(before)
    n_good = sum(row["as_promised"] for row in study.rows)
    return study.end(
        reached=n_good == len(study.rows),
        found=f"{n_good} of {len(study.rows)} one sentence and status 2, nothing left behind",
    )


def judged(case: Case) -> dict[str, Any]:
    """What a case ends with, and whether that is as promised; where it is not, what was said."""
    before = _left(Path.cwd())
    status, printed, said = (_in_a_process if case.needs_process else _here)(case)
    lines = said.splitlines()
    one_sentence = len(lines) == 1 and lines[0].startswith("anchorscope: error: ") and lines[0].isprintable()
    one_sentence = one_sentence and lines[0].count("\\n") < 2  # more are a paragraph in disguise
    expected = not said if 2 in case.closed else one_sentence
    left = sorted(_left(Path.cwd()) - before)
    good = status == case.status and expected and not printed and not left and "should not happen" not in said
    return {"status": status, "as_promised": good, **({} if good else {"said": said[-500:], "left": left})}


def _here(case: Case) -> tuple[int, str, str]:
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            status = cli.main(list(case.arguments))
        except BaseException as error:
            return 1, "", f"it raised {type(error).__name__}: {error}"
    return status, output.getvalue(), errors.getvalue()


def _in_a_process(case: Case) -> tuple[int, str, str]:
    """Closed streams are closed by a shell, before Python begins."""
    closing = "".join(f" {number}{'<' if number == 0 else '>'}&-" for number in case.closed)
    command = ["sh", "-c", f'exec "$@"{closing}', "sh", sys.executable, "-m", "anchorscope.cli", *case.arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def _left(folder: Path) -> set[str]:
    """The files of a folder and its run, but what Python keeps of imported modules."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


def _write(folder: Path, name: str, data: bytes) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


if __name__ == "__main__":
    raise SystemExit(main())
