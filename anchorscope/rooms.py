"""The rooms of the house, in the order of the road that a document travels, and what each may import.

A room is a sub-package, or a file at the root. It may import from the rooms that its line names, from ``VALUES``, and
from itself, and there is nothing on the line that it does not use: a test holds the code to this table, and the maps in
README.md and docs/design.md and the docstring of each sub-package are checked against it. ``python -m
anchorscope.rooms`` prints the map.
"""

from __future__ import annotations

from dataclasses import dataclass

VALUES = ("types", "errors", "registry", "files")
"""What every room may import: the values that travel, what can go wrong, who is behind a name, and careful files."""


@dataclass(frozen=True, slots=True)
class Room:
    """A room, what is in it, and the rooms that it may import from besides the values."""

    name: str
    holds: str
    imports: str = ""

    @property
    def may_import(self) -> list[str]:
        """The rooms by name."""
        return self.imports.split()


ROOMS = (
    Room("types", "the values that travel from room to room; contracts for outside code"),
    Room("errors", "what can go wrong, as a small family"),
    Room("registry", "short names for everything that can be exchanged; entry points"),
    Room("files", "files in folders that may be other people's: read and written with care"),
    Room("text", "files and Python objects -> documents; text <-> words; terms"),
    Room("asking", "texts -> a model's answers, checked and tried again; texts with words removed", "text"),
    Room("sampling", "which words a sample keeps, what replaces the rest, how it is tested", "text asking"),
    Room("scoring", "counts that add up, the aggregations, and how sure scores are"),
    Room("settings", "every choice that a result depends on; the presets", "text sampling scoring"),
    Room(
        "local_scores",
        "what a term does in a document: occlusion, banzhaf, shapley, anchor; by libraries; by gradients",
        "text asking sampling settings",
    ),
    Room("planning", "which occurrences to measure next: scan and race", "text asking sampling scoring settings"),
    Room("explanations", "from counts and scores to what is said of a label", "scoring"),
    Room("journal", "the run folder, written and read again", "asking sampling scoring settings planning explanations"),
    Room("predictors", "adapters to the black box", "text asking"),
    Room("perturbators", "adapters to the noise", "text asking"),
    Room("embedded_model", "the masked language model that is shipped"),
    Room("backends", "where work is done", "text asking local_scores"),
    Room("result", "what a run found, as a value and as JSON"),
    Room("local", "one document by itself", "text"),
    Room(
        "loop",
        "plan, measure, write down, count, show",
        "asking sampling scoring settings local_scores planning journal explanations",
    ),
    Room(
        "run",
        "documents in, snapshots out",
        "text asking scoring settings local_scores planning journal backends result loop",
    ),
    Room("estimate", "what a run would take", "text sampling settings planning"),
    Room(
        "explainer",
        "the front door of the library",
        "text asking settings predictors perturbators result local run",
    ),
    Room("demo", "the demo's reviews and classifier"),
    Room("testing", "suites for every plug", "text asking scoring settings local_scores planning perturbators"),
    Room("report", "tables and pages", "text asking scoring settings journal explanations result local run"),
    Room("evaluation", "how good it is", "text asking scoring settings planning journal result"),
    Room(
        "reproduction",
        "the paper's experiments as one command",
        "text asking sampling scoring settings local_scores journal predictors perturbators embedded_model run demo "
        "evaluation",
    ),
    Room(
        "cli",
        "a file a command",
        "text asking scoring settings planning explanations journal predictors perturbators embedded_model backends "
        "result run estimate explainer demo report evaluation reproduction",
    ),
    Room("rooms", "this table"),
)


def directions() -> str:
    """A line a room: what it may import besides the values, as docs/design.md has it."""
    return "\n".join(f"  {room.name:15} {room.imports or '–'}".rstrip() for room in ROOMS)


if __name__ == "__main__":
    for room in ROOMS:
        print(f"{room.name:15} {room.holds}")
