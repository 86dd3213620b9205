"""Imports point one way, the method needs nothing but numpy, and the public names are what they say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import anchorscope

PACKAGE = Path(anchorscope.__file__).parent

VALUES = {"types", "errors", "devices"}
METHOD = {"registry", "read", "words", "streams", "anchor", "tally", "scores", "bounds", "fills", "aopc", "answers"}
METHOD |= {"posterior", "progress", "credit", "recount", "hiding", "folders", "lexicon", "ranges", "cut"}
PLANS = {"reading", "schedule", "settings", "collection", "holders", "scan", "race", "ledger", "evidence", "patience"}
PLANS |= {"rows", "tables", "journal", "finished", "standings"}
ADAPTERS = {"predictors", "perturbators", "backends", "embedded_model"}
RUNS = {"run", "result", "estimate"}
DOORS = {"explainer", "report", "demo", "testing", "evaluation", "reproduction"}
RANKS = [VALUES, METHOD, PLANS, RUNS | ADAPTERS, DOORS, {"cli"}]
"""From the bottom up, as STYLE's room plan has it: a file imports from its own rank or from one below."""


def parts() -> Iterator[tuple[str, Path]]:
    """Every file of the package and the room that it is in: its own name, or that of its sub-package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if inside.name != "__init__.py" or len(inside.parts) > 1:
            yield inside.parts[0].removesuffix(".py"), path


def imported(path: Path, *, lazily: bool = False) -> set[str]:
    """The modules that a file imports when it is imported; with ``lazily``, those inside its functions, too.

    What only a type checker reads (``if TYPE_CHECKING``) does not count.
    """
    found: set[str] = set()

    def walk(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not lazily:
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} imports relatively"
            found.update(_target(node.module, alias.name) for alias in node.names)
        for child in ast.iter_child_nodes(node):
            walk(child)

    walk(ast.parse(path.read_text(encoding="utf-8")))
    return found


def _target(module: str, name: str) -> str:
    """The module that ``from module import name`` means: of a package, the file of that name, if there is one."""
    folder = PACKAGE.parent.joinpath(*module.split("."))
    is_file = (folder / f"{name}.py").is_file() or (folder / name).is_dir()
    return f"{module}.{name}" if module.startswith("anchorscope") and is_file else module


def rooms(path: Path, *, lazily: bool = False) -> set[str]:
    """The rooms of this package that a file imports from."""
    return {name.split(".")[1] for name in imported(path, lazily=lazily) if name.startswith("anchorscope.")}


def rank(room: str) -> int:
    return next(number for number, members in enumerate(RANKS) if room in members)


def test_every_file_has_its_place_in_the_plan() -> None:
    placed = set().union(*RANKS)
    assert {room for room, _ in parts()} <= placed, "a new file: add it to RANKS (and to the room plan)"


@pytest.mark.parametrize(
    ("page", "begin"), [("README.md", "```\nanchorscope/"), ("docs/design.md", "    types errors devices")]
)
def test_every_file_is_on_the_map(page: str, begin: str) -> None:
    """The one of the README says what is in a file, that of the design what it may import."""
    text = (PACKAGE.parent / page).read_text(encoding="utf-8").partition(begin)
    names = set(re.findall(r"\w+", (begin + text[2]).partition("\n## ")[0]))
    assert {room for room, _ in parts()} <= names


def test_imports_point_one_way() -> None:
    """Lazy ones as well: a function that reaches up is no better than a module that does."""
    wrong = [
        f"{path.relative_to(PACKAGE)} -> {other}"
        for room, path in parts()
        for other in rooms(path, lazily=True)
        if rank(other) > rank(room)
    ]
    assert not wrong


def test_there_is_no_circle_of_imports() -> None:
    """Among files, those of the sub-packages included."""

    def module(path: Path) -> str:
        return ".".join(("anchorscope", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")

    graph = {module(path): {name for name in imported(path) if name.startswith("anchorscope.")} for _, path in parts()}
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join((*above, name))
        if name not in done:
            for other in sorted(graph.get(name, ())):
                visit(other, (*above, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("room", sorted(VALUES | METHOD))
def test_the_method_is_numpy_and_the_standard_library(room: str) -> None:
    """No model, no adapter, no clock and no randomness that is not handed over."""
    names = {name.split(".")[0] for name in imported(PACKAGE / f"{room}.py")}
    assert names <= set(sys.stdlib_module_names) | {"numpy", "regex", "anchorscope"}
    assert not names & {"time", "datetime", "random", "threading", "multiprocessing"}
    assert not rooms(PACKAGE / f"{room}.py", lazily=True) & (ADAPTERS | PLANS | RUNS | DOORS)


def test_the_run_is_handed_its_adapters() -> None:
    """It imports the local backend, which is its default, and no other adapter."""
    for room in PLANS | RUNS:
        found = {
            name
            for name in imported(PACKAGE / f"{room}.py", lazily=True)
            if name.split(".")[1:2] and name.split(".")[1] in ADAPTERS
        }
        assert found <= ({"anchorscope.backends.local"} if room == "run" else set()), room


def test_adapters_do_not_know_the_run() -> None:
    for room, path in parts():
        if room in ("predictors", "perturbators"):
            assert rooms(path, lazily=True) <= VALUES | METHOD | {room}, path


# --- public names ---


def test_every_public_name_is_there() -> None:
    assert not [name for name in anchorscope.__all__ if not hasattr(anchorscope, name)]


def test_the_public_names_are_those_that_can_be_loaded_and_those_a_type_checker_sees() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    checked = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.If)
        for inner in node.body
        if isinstance(inner, ast.ImportFrom)
        for alias in inner.names
    }
    assert set(anchorscope.__all__) == checked == set(anchorscope._HOMES)
    assert list(anchorscope.__all__) == sorted(anchorscope.__all__)
    assert dir(anchorscope) == sorted(anchorscope.__all__)


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Explianer'"):
        anchorscope.Explianer  # noqa: B018


@pytest.mark.parametrize("first", ["Explainer", "Removals", "removal_oracle"])
def test_a_public_name_stays_what_it_is(first: str) -> None:
    """Each name, asked for after another one, is no module."""
    kinds = "print(*[type(getattr(anchorscope, name)).__name__ for name in anchorscope.__all__])"
    code = f"import anchorscope; anchorscope.{first}; {kinds}"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "module" not in answer.stdout.split()


# --- importing is quick ---

HEAVY = (
    "torch",
    "transformers",
    "sklearn",
    "skops",
    "onnxruntime",
    "pandas",
    "pyarrow",
    "datasets",
    "ray",
    "fastapi",
    "scipy",
    "loky",
)


def loaded(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(answer.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import anchorscope", "from anchorscope import Explainer, Removals, Result, as_predictor"]
)
def test_importing_loads_no_heavy_package(statement: str) -> None:
    assert not loaded(statement) & set(HEAVY)


def test_importing_takes_less_than_three_tenths_of_a_second() -> None:
    """The best of three, on a busy machine, without the start of Python itself."""
    code = "import time; start = time.perf_counter(); import anchorscope; print(time.perf_counter() - start)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    assert min(float(run.stdout) for run in runs) < 0.3
