"""Which perturbator: the one that was named, or the one that suits the documents.

embedded            our own English masked language model
corpus              words of the documents themselves
mask-token          nothing in the place of a word; mask-token:UNK puts UNK there
masked-lm:FOLDER    a Hugging Face masked language model (the folder alone will do, unless it is called as one of these)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anchorscope import registry
from anchorscope.asking.answers import brief, shortened
from anchorscope.errors import InputError
from anchorscope.files import is_path_of_folder
from anchorscope.perturbators import PERTURBATORS
from anchorscope.perturbators.corpus import CorpusPerturbator
from anchorscope.perturbators.embedded import ENGLISH_SHARE, EmbeddedPerturbator
from anchorscope.types import Perturbator, Words

SAMPLE = 1000
"""Documents looked at to tell whether a collection is English."""


def named_perturbator(spec: str, *, top_n: int, device: str = "cpu") -> Perturbator:
    """The perturbator behind a name of the command line; ``device`` is where a masked-lm computes."""
    name, _, argument = spec.partition(":")
    if name not in registry.names("perturbator") and _is_folder(spec):
        name, argument = "masked-lm", spec
    made: Perturbator = registry.resolve("perturbator", name)(argument, top_n=top_n, device=device)
    return made


def reads_device(spec: str) -> bool:
    """Whether the perturbator behind a name computes on a device that can be chosen; another package's may.

    >>> reads_device("corpus"), reads_device("masked-lm:folder")
    (False, True)
    """
    name = spec.partition(":")[0]
    return name == "masked-lm" or name not in PERTURBATORS


def _is_folder(spec: str) -> bool:
    try:
        return is_path_of_folder(Path(spec))
    except (ValueError, OSError) as error:
        raise InputError(f"{shortened(spec)} is neither a perturbator nor a folder ({brief(error)}).") from error


def choose_perturbator(texts: Sequence[Words], *, top_n: int) -> tuple[Perturbator, str | None]:
    """The embedded model for English; for other documents ``corpus``, and a sentence that says so."""
    embedded = EmbeddedPerturbator(top_n=top_n)
    share = embedded.share_in_vocabulary(texts[:SAMPLE])
    if share >= ENGLISH_SHARE:
        return embedded, None
    return CorpusPerturbator(top_n=top_n), (
        f"Only {share:.0%} of the words are in the vocabulary of the embedded English model, so words are drawn "
        "from the documents themselves (--perturbator corpus)."
    )
