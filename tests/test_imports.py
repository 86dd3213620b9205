"""Imports keep to the table of rooms, the method needs nothing but numpy, and the public names are what they say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import anchorscope
from anchorscope.rooms import ROOMS, VALUES, directions

PACKAGE = Path(anchorscope.__file__).parent
BY_NAME = {room.name: room for room in ROOMS}
PURE = {"types", "errors", "registry", "text", "sampling", "scoring", "settings", "planning", "rooms"}
"""The rooms of the method: no model, no clock, no randomness that is not handed over."""


def parts() -> Iterator[tuple[str, Path]]:
    """Every file of the package and the room that it is in: its own name, or that of its sub-package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if inside.name not in ("__init__.py", "__main__.py") or len(inside.parts) > 1:
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


def rooms(path: Path) -> set[str]:
    """The rooms of this package that a file imports from, be it inside a function."""
    return {name.split(".")[1] for name in imported(path, lazily=True) if name.startswith("anchorscope.")}


# --- rooms ---


def test_every_file_is_in_a_room_of_the_table() -> None:
    assert {room for room, _ in parts()} == set(BY_NAME), "a new room: add it to anchorscope/rooms.py"


def test_a_room_imports_what_the_table_says() -> None:
    """Lazy imports as well: a function that reaches up is no better than a module that does."""
    wrong = [
        f"{path.relative_to(PACKAGE)} -> {other}"
        for room, path in parts()
        for other in rooms(path)
        if other not in {room, *VALUES, *BY_NAME[room].may_import}
    ]
    assert not wrong


def test_the_table_names_rooms_that_there_are_and_has_no_circle() -> None:
    def below(name: str, above: tuple[str, ...] = ()) -> None:
        assert name not in above, " -> ".join((*above, name))
        for other in BY_NAME[name].may_import:
            below(other, (*above, name))

    for name in BY_NAME:
        below(name)


def test_the_table_allows_nothing_that_nobody_uses() -> None:
    used: dict[str, set[str]] = {name: set() for name in BY_NAME}
    for room, path in parts():
        used[room] |= rooms(path)
    assert not [(room.name, other) for room in ROOMS for other in room.may_import if other not in used[room.name]]


def test_a_room_says_what_comes_in_and_what_it_may_import() -> None:
    for path in sorted(PACKAGE.glob("*/__init__.py")):
        said = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split())
        assert re.search(r"\bIn: .+ Out: .+ May import: ", said), path
        named = said.partition("May import: ")[2].partition(".")[0]
        assert named == (", ".join(BY_NAME[path.parent.name].may_import) or "no other room"), path


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


def the_map(page: str) -> list[str]:
    text = (PACKAGE.parent / page).read_text(encoding="utf-8")
    found = re.search(r"```\nanchorscope/\n(.*?)```", text, re.DOTALL)
    assert found, f"{page} has no map"
    return found.group(1).rstrip().splitlines()


def test_the_map_of_the_readme_has_every_room_on_a_screen() -> None:
    """The names stand in front of a line's description, which two spaces keep apart."""
    lines = the_map("README.md")
    assert len(lines) <= 20
    names = [re.split(r"\s{2,}", line.strip())[0].split() for line in lines]
    assert sorted(name.rstrip("/") for line in names for name in line) == sorted({*BY_NAME} - {"rooms"})


def test_the_directions_of_the_design_are_those_of_the_table() -> None:
    assert "\n".join(the_map("docs/design.md")) == directions()


@pytest.mark.parametrize("room", sorted(PURE))
def test_the_method_is_numpy_and_the_standard_library(room: str) -> None:
    for place, path in parts():
        if place == room:
            names = {name.split(".")[0] for name in imported(path)}
            assert names <= set(sys.stdlib_module_names) | {"numpy", "regex", "anchorscope"}, path
            assert not names & {"time", "datetime", "random", "threading", "multiprocessing"}, path


def test_no_import_is_hidden_in_a_string() -> None:
    """Nothing but the registry, which is there for it, imports by name from above."""
    for _, path in parts():
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"import_module\(\s*[\"']anchorscope", source), path


# --- places that know an idea ---


def compared(names: Iterable[str], *, but: tuple[str, ...]) -> list[str]:
    """The lines that compare something with one of the names, outside some rooms."""
    quoted = "|".join(map(re.escape, names))
    pattern = re.compile(rf"""([=!]==?|\bin)\s*\(?\s*["']({quoted})["']|["']({quoted})["']\s*([=!]==?|in\b)""")
    return [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.js")])
        if not {*but} & {*path.relative_to(PACKAGE).parts}
        for line in path.read_text(encoding="utf-8").splitlines()
        if pattern.search(line)
    ]


def test_names_of_aggregations_are_compared_nowhere() -> None:
    """What belongs to an aggregation is a field of it; only its definition and the presets name it."""
    from anchorscope.scoring.aggregations import AGGREGATIONS

    # The paper's claims are about its aggregations, by name.
    assert compared((name for name in AGGREGATIONS if name != "base"), but=("reproduction",)) == []


def test_names_of_strategies_are_compared_nowhere() -> None:
    """What other rooms need to know of a strategy it says itself (``settings/strategies.py``)."""
    from anchorscope.planning import STRATEGIES

    assert compared(STRATEGIES, but=("planning", "settings", "reproduction")) == []


def test_names_of_local_scores_are_compared_nowhere() -> None:
    """What a reader or a setting needs to know of a local score it says itself (``types/contracts.py``)."""
    from anchorscope.local_scores import SCORES

    # "anchor" is a column of the measurements, too; and planted words have a true score by occlusion alone.
    names = [name for name in SCORES if name != "anchor"]
    assert compared(names, but=("reproduction", "local_scores", "evaluation")) == []


def test_a_function_fits_a_screen() -> None:
    """Fifty lines, in the package and in whatever else is kept beside it."""
    long = [
        f"{path.relative_to(PACKAGE.parent)}:{node.lineno} {node.name}"
        for folder in (PACKAGE, *(PACKAGE.parent / name for name in ("benchmarks", "reliability", "training", "tests")))
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno + 1 > 50
    ]
    assert not long, "name its parts and make functions of them"


def test_the_rule_of_what_a_word_is_stands_in_one_place() -> None:
    """Patterns and classes of characters that tell letters from signs."""
    mentions = re.compile(r"\\p\{(L|N|WB|Extended|Emoji)|0-9A-Za-z")
    places = {
        path.name
        for place, path in parts()
        if place in ("text", "sampling", "planning", "perturbators", "asking")
        if mentions.search(path.read_text(encoding="utf-8"))
    }
    assert places == {"rule.py"}


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
