"""A Hugging Face folder on this machine, read with distrust: no network, no code of its own, no pickles.

Configuration, tokenizer and safetensors are read. A folder without them is refused before anything is loaded, and so is
one with links or pipes in it, with options that lead to code or other files, or with more layers or labels than
weights: to build these would take for ever. What transformers would make up with no more than a log message is named,
for the reader to refuse; a vocabulary is refused here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anchorscope.asking.answers import brief, shortened
from anchorscope.asking.tokenizer_file import check_growth
from anchorscope.errors import MissingPackageError, ModelFileError, RunFolderError
from anchorscope.files import read_regular


def weights_in(folder: Path) -> list[Path]:
    """The files with the weights of a model; a folder that has none we would read is refused."""
    if not folder.is_dir():
        raise ModelFileError(f"There is no folder {str(folder)!r}; give the path of a Hugging Face model.")
    if not (folder / "config.json").is_file():
        raise ModelFileError(
            f"The folder {str(folder)!r} has no config.json, so it is no Hugging Face model; "
            "write one with model.save_pretrained(folder)."
        )
    _refuse_irregular(folder)
    _refuse_code(folder)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights and any(folder.glob("*.bin")):
        raise ModelFileError(
            f"The folder {str(folder)!r} has its weights only in pickled form (.bin), which can run any code when "
            "it is read; where you trust it, load it and write safetensors with model.save_pretrained(folder)."
        )
    if not weights:
        raise ModelFileError(
            f"The folder {str(folder)!r} holds no weights; expected model.safetensors beside config.json."
        )
    for path in weights:
        if not path.is_file():
            raise ModelFileError(f"{str(path)!r} is no regular file; copy the weights into the folder.")
    _check_index(folder, {path.name for path in weights})
    return weights


def _refuse_irregular(folder: Path) -> None:
    """Whatever is read from the folder lies there itself: a link leads elsewhere, and a pipe may never end."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
            raise ModelFileError(
                f"{entry.path!r} is no regular file (it is a link, a pipe or the like); copy what it stands for into "
                "the folder, or remove it."
            )


def _check_index(folder: Path, weights: set[str]) -> None:
    """An index may name no other files than the safetensors in the folder: others are pickles, or lie elsewhere."""
    path = folder / "model.safetensors.index.json"
    if not os.path.lexists(path):
        return
    named = _json(path).get("weight_map", {})
    files = {*named.values()} if isinstance(named, dict) and all(isinstance(n, str) for n in named.values()) else {""}
    if strange := sorted(files - weights):
        raise ModelFileError(
            f"{str(path)!r} names {strange[0]!r} as a file with weights; expected .safetensors files in its folder."
        )


def _refuse_code(folder: Path) -> None:
    """Refuse a folder whose options would make transformers fetch or run code, or read other folders."""
    if os.path.lexists(folder / "adapter_config.json"):
        raise ModelFileError(
            f"The folder {str(folder)!r} holds an adapter of another model; merge the two "
            "(model.merge_and_unload()) and write the whole with save_pretrained(folder)."
        )
    for name in ("config.json", "tokenizer_config.json"):
        if os.path.lexists(folder / name):
            for option, value in _options(_json(folder / name)):
                if _loads_more(option, value, folder):
                    raise ModelFileError(
                        f"{str(folder / name)!r} sets {option!r} to {shortened(str(value))}, which makes transformers "
                        "load code or other files; remove it, or load the model yourself and name module:attribute."
                    )


def _loads_more(option: str, value: Any, folder: Path) -> bool:
    """Whether an option makes transformers load code, or files that are not the folder's own."""
    if KERNELS.fullmatch(option):
        return value not in KNOWN_KERNELS
    return option in CODE or (A_FILE.fullmatch(option) is not None and _lies_elsewhere(value, folder))


def _lies_elsewhere(value: Any, folder: Path) -> bool:
    """Whether a value is the path of something outside the folder; old folders name files that are gone, which is no
    harm."""
    if not isinstance(value, str) or os.sep not in value:
        return False
    own = os.path.realpath(folder) + os.sep
    return any(os.path.lexists(path) and not os.path.realpath(path).startswith(own) for path in (value, folder / value))


CODE = (
    *("auto_map", "custom_pipelines", "quantization_config", "use_kernels", "kernel_config", "compile_config"),
    *("trust_remote_code", "transformers_weights", "configuration_files", "fast_tokenizer_files", "gguf_file"),
)
"""Options that name code, packages that are loaded because of them, or other files: of weights, options, pieces."""

A_FILE = re.compile(r"\w+_file")
"""Options that name one file of a tokenizer, where it was when the folder was written."""

KERNELS = re.compile(r"_?\w+_implementation(_internal)?")
KNOWN_KERNELS = (None, "eager", "sdpa", "flex_attention")
"""Ways of computing that come with torch; any other name is looked up on a hub, and is code."""

LAYERS = re.compile(r"n_layers?|num_(\w+_)?layers|\w+coder_layers|num_hidden_groups|inner_group_num|block_sizes")
"""Options that say how many layers are built; each has tensors of its own, or shares those of another."""

LABELS = re.compile(r"_?num_(labels|classes)")
"""Options that say how many labels there are."""

LARGEST_CONFIG = 64 << 20
LARGEST_TOKENIZER = 256 << 20
LARGEST_HEADER = 100_000_000
"""Bytes of the list of tensors in a safetensors file: as many as safetensors itself reads."""


def _json(path: Path) -> dict[str, Any]:
    """A file of options, which is a regular one and holds an object."""
    try:
        found = json.loads(read_regular(path, at_most=LARGEST_CONFIG))
    except (OSError, ValueError, RecursionError, RunFolderError) as error:
        raise ModelFileError(f"{str(path)!r} cannot be read ({brief(error)}).") from error
    if not isinstance(found, dict):
        raise ModelFileError(f"{str(path)!r} holds no options; expected a JSON object.")
    return found


def _options(values: Any) -> Iterator[tuple[str, Any]]:
    """Every option, those inside others included, however deep they lie."""
    left = [values]
    while left:
        inside = left.pop()
        if isinstance(inside, dict):
            yield from inside.items()
            left += inside.values()
        elif isinstance(inside, list):
            left += inside


def _check_sizes(folder: Path, weights: Sequence[Path]) -> None:
    """Refuse a configuration with more layers than there are tensors, or more labels than the longest of these is long.

    Labels have a row of the last layer each; transformers names them one by one before it looks at the weights.
    """
    shapes = [shape for path in weights for shape in _shapes(path)]
    n_bytes = max((path.stat().st_size for path in weights), default=0)
    longest = min(max((size for shape in shapes for size in shape), default=0), n_bytes)
    for option, value in _options(_json(folder / "config.json")):
        if LAYERS.fullmatch(option) and _exceeds(value, len(shapes)):
            raise _oversized(folder, option, value, f"have {len(shapes)} tensors in all")
        if LABELS.fullmatch(option) and _exceeds(value, longest):
            raise _oversized(folder, option, value, f"have no tensor of more than {longest} rows")


def _exceeds(value: Any, limit: int) -> bool:
    numbers = value if isinstance(value, list) else [value]
    return any(isinstance(n, int | float) and n > limit for n in numbers)


def _oversized(folder: Path, option: str, value: Any, held: str) -> ModelFileError:
    return ModelFileError(
        f"{str(folder / 'config.json')!r} sets {option!r} to {shortened(str(value))}, and the weights {held}; write "
        "model and configuration together, with model.save_pretrained."
    )


def _shapes(path: Path) -> list[list[int]]:
    """The shape of each tensor in a safetensors file: its first eight bytes say how long the list is, in JSON."""
    try:
        length = int.from_bytes(read_regular(path, at_most=1 << 62, first=8), "little")
        if length > LARGEST_HEADER:
            raise ValueError(f"its header has {length:,} bytes")
        listed = json.loads(read_regular(path, at_most=1 << 62, first=8 + length)[8:])
        return [[int(size) for size in tensor["shape"]] for name, tensor in listed.items() if name != "__metadata__"]
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError, RunFolderError) as error:
        raise ModelFileError(
            f"{str(path)!r} cannot be read as safetensors ({brief(error)}); is it whole? Write it with "
            "model.save_pretrained(folder)."
        ) from error


def load(folder: Path, auto_class: str, kind: str) -> tuple[Any, Any, list[str]]:
    """Model, tokenizer, and the weights that the model would need and the folder lacks.

    ``auto_class`` is the class of transformers that reads the model, ``kind`` what it is called in a sentence.
    """
    _check_sizes(folder, weights_in(folder))
    _check_tokenizer(folder)
    try:
        import torch  # noqa: F401  (without it transformers imports well and fails late)
        import transformers
    except ImportError as error:
        raise MissingPackageError(error.name or "transformers", "huggingface", "Hugging Face models") from error
    safely = {"local_files_only": True, "trust_remote_code": False}
    try:
        with _quiet(transformers.utils.logging):
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safely)
            model, loading = getattr(transformers, auto_class).from_pretrained(
                folder, use_safetensors=True, output_loading_info=True, **safely
            )
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a broken folder provokes; a panic of Rust is no Exception
        raise ModelFileError(f"The folder {str(folder)!r} cannot be read as a {kind} ({brief(error)}).") from error
    if not _has_vocabulary(folder, tokenizer):
        raise ModelFileError(
            f"The folder {str(folder)!r} holds no tokenizer; write it there with tokenizer.save_pretrained(folder)."
        )
    return model, tokenizer, sorted(loading["missing_keys"])


def _check_tokenizer(folder: Path) -> None:
    """Refuse a tokenizer.json that would make texts far longer than they are."""
    path = folder / "tokenizer.json"
    if not os.path.lexists(path):
        return
    try:
        check_growth(read_regular(path, at_most=LARGEST_TOKENIZER))
    except (OSError, ValueError, RecursionError, RunFolderError) as error:
        raise ModelFileError(
            f"{str(path)!r} is no tokenizer that can be used ({brief(error)}); write it anew with "
            "tokenizer.save_pretrained(folder)."
        ) from error


ANY_VOCABULARY = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "tekken.json", "spm.model")
"""Files with a vocabulary that transformers looks for, whatever the class of the tokenizer."""

NO_VOCABULARY = ("tokenizer_config_file", "merges_file", "normalizer_file")
"""What the files of a tokenizer are called that hold no vocabulary, and are of no use without one."""


def _has_vocabulary(folder: Path, tokenizer: Any) -> bool:
    """Whether the pieces of a tokenizer are those of the folder, and not the few that its class begins with.

    Some classes need no file: their pieces are bytes or characters.
    """
    named = getattr(type(tokenizer), "vocab_files_names", {})
    if not named:
        return True
    files = (*(file for name, file in named.items() if name not in NO_VOCABULARY), *ANY_VOCABULARY)
    return any((folder / file).is_file() for file in files) and len(tokenizer) > len(tokenizer.all_special_tokens)


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """No progress bars and notes of transformers on the user's screen; its settings are put back."""
    verbosity = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
