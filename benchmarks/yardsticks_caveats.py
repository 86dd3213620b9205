"""What a reader of docs/yardsticks.md has to know before believing a table, counted from the rows themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from anchorscope.text.words import split, terms

Row = Mapping[str, str]

ONE_CORPUS = ("demo", "rotten-tomatoes")
"""Two tasks whose texts are splits of the same film reviews."""

SEEDS = 5
PROMISED = 0.85
"""The share of planted strengths that was to lie within their intervals."""


def listed(row: Row) -> list[str]:
    """The words of a row's list.

    >>> listed({"terms": "great !"}), listed({"terms": ""})
    (['great', '!'], [])
    """
    return row["terms"].split(" ") if row["terms"] else []


def one_corpus(rows: Sequence[Row]) -> str:
    """A sentence where both tasks that are one corpus take part.

    >>> one_corpus([{"task": "demo"}, {"task": "corona"}, {"task": "rotten-tomatoes"}])
    ' `demo` and `rotten-tomatoes` are two splits of one corpus: 3 tasks, 2 corpora.'
    """
    names = {row["task"] for row in rows}
    if not names.issuperset(ONE_CORPUS):
        return ""
    told = " and ".join(f"`{name}`" for name in ONE_CORPUS)
    return f" {told} are two splits of one corpus: {len(names)} tasks, {len(names) - 1} corpora."


def corpus(task: str) -> str:
    """The corpus of a task.

    >>> corpus("demo"), corpus("corona")
    ('rotten-tomatoes', 'corona')
    """
    return ONE_CORPUS[-1] if task in ONE_CORPUS else task


def commits(rows: Sequence[Row]) -> str:
    """The commits of the rows; where there are several, who was made at each but the one of most contenders.

    >>> made = {"lime": "a", "shap": "a", "fast": "b"}
    >>> commits([{"method": method, "commit": commit} for method, commit in made.items()])
    'a (`fast`: b)'
    """
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        found.setdefault(row["commit"], {})[row["method"]] = None
    most, *others = sorted(found, key=lambda commit: -len(found[commit]))
    told = [f"{', '.join(f'`{method}`' for method in found[commit])}: {commit}" for commit in others]
    return f"{most} ({'; '.join(told)})" if told else most


def is_plain(word: str) -> bool:
    """Whether a listed word is one where terms are plain words, as all yardsticks of the study have it.

    >>> is_plain("don't"), is_plain("!"), is_plain("3.5")
    (True, False, False)
    """
    return terms(split(word)) == (word,)


def unmeasured(rows: Sequence[Row]) -> list[str]:
    """How many listed words by contender are no plain words, and how many lists are empty; nothing where none are."""
    words: dict[str, list[bool]] = {}
    empty: dict[str, list[bool]] = {}
    for row in rows:
        words.setdefault(row["method"], []).extend(not is_plain(word) for word in listed(row))
        empty.setdefault(row["method"], []).append(not listed(row))
    told = {
        "Listed words that are no plain words, so that nothing is removed for them": _counts(words),
        "Lists without a word (two of them count as alike in *stability*)": _counts(empty),
    }
    return [f"{what}: {counts}." for what, counts in told.items() if counts]


def _counts(found: Mapping[str, Sequence[bool]]) -> str:
    return "; ".join(f"`{method}` {sum(of):,} of {len(of):,}" for method, of in found.items() if any(of))


def seeds_there(
    rows: Sequence[Row], methods: Sequence[str], tasks: Sequence[str]
) -> tuple[list[str], list[list[str]], str]:
    """A table of how many seeds of each method and task are there with all numbers of calls; and what is not at all."""
    all_calls = {row["calls"] for row in rows if row["calls"].isdigit()}
    there: dict[tuple[str, str, str], set[str]] = {}
    for row in rows:
        if row["calls"].isdigit():
            there.setdefault((row["method"], row["task"], row["seed"]), set()).add(row["calls"])
    run = [method for method in methods if any(method == name for name, _, _ in there)]
    lines = [[method, *(_seeds(there, method, task, all_calls) for task in tasks)] for method in run]
    lacking = [f"`{method}`" for method in methods if method not in run]
    lacking += [f"the task `{task}`" for task in tasks if not any(task == name for _, name, _ in there)]
    return [f"seeds of {SEEDS}", *tasks], lines, f"Not run at all: {', '.join(lacking)}." if lacking else ""


def _seeds(
    there: Mapping[tuple[str, str, str], Collection[str]], method: str, task: str, all_calls: Collection[str]
) -> str:
    """How many seeds are complete, and how many are there in part."""
    found = [len(calls) for (name, of, _), calls in there.items() if (name, of) == (method, task)]
    whole = sum(n == len(all_calls) for n in found)
    in_part = len(found) - whole
    return f"{whole or ''}{'+' if whole and in_part else ''}{f'{in_part} in part' if in_part else ''}"


def below(rows: Sequence[Row]) -> str:
    """Which shifts, and which classes of which tasks, have fewer true scores in their intervals than was promised."""
    cells: dict[str, list[bool]] = {}
    for row in rows:
        if row["inside"] != "":
            for name in (f"shift {float(row['shift']):g}", f"{row['task']} {row['label']}"):
                cells.setdefault(name, []).append(row["inside"] == "True")
    few = {name: of for name, of in cells.items() if sum(of) < PROMISED * len(of)}
    sizes = [*map(len, cells.values())]
    told = ", ".join(f"{name} {sum(of) / len(of):.1%} ({sum(of)} of {len(of)})" for name, of in sorted(few.items()))
    cells_told = f"{len(cells)} cells by shift, and by task and class"
    each = f"{min(sizes)} to {max(sizes)} words with an interval each"
    what = f"{len(few) or 'none'} are below {PROMISED:.0%}{': ' if few else ''}{told}"
    return f"Of the {cells_told} ({each}), {what}."


def retrained(roar: Sequence[Row], lists: Sequence[Row]) -> str:
    """Of what commits the lists are that texts were taken without, and which were made again since."""
    now = {_piece(row): row["commit"] for row in lists}
    commits = ", ".join(sorted({row["lists"] for row in roar}))
    old = {row["method"]: None for row in roar if now.get(_piece(row)) != row["lists"]}
    of_page = "`docs/data/yardsticks_linear.csv`"
    if len(old) == len({row["method"] for row in roar}) > 1:
        return f" The lists are of commit {commits}, which are older: all those of {of_page} were made again since."
    since = f", but those of {', '.join(f'`{method}`' for method in old)}, which were made again since" if old else ""
    return f" The lists are those of {of_page} (commit {commits}){since}."


def _piece(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in ("task", "method", "calls", "seed"))
