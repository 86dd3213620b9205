"""A Hugging Face folder on this machine, read with distrust: no network, no code of its own, no pickles.

Configuration, tokenizer and safetensors are read. A folder without them is refused before anything is loaded; what
transformers would make up with no more than a log message is named, for the reader to refuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anchorscope.asking.answers import brief
from anchorscope.errors import MissingPackageError, ModelFileError


def weights_in(folder: Path) -> list[Path]:
    """The files with the weights of a model; a folder that has none we would read is refused."""
    if not folder.is_dir():
        raise ModelFileError(f"There is no folder {str(folder)!r}; give the path of a Hugging Face model.")
    if not (folder / "config.json").is_file():
        raise ModelFileError(
            f"The folder {str(folder)!r} has no config.json, so it is no Hugging Face model; "
            "write one with model.save_pretrained(folder)."
        )
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
    return weights


def load(folder: Path, auto_class: str, kind: str) -> tuple[Any, Any, list[str]]:
    """Model, tokenizer, and the weights that the model would need and the folder lacks.

    ``auto_class`` is the class of transformers that reads the model, ``kind`` what it is called in a sentence.
    """
    weights_in(folder)
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
    except Exception as error:  # whatever a broken folder provokes inside transformers
        raise ModelFileError(f"The folder {str(folder)!r} cannot be read as a {kind} ({brief(error)}).") from error
    return model, tokenizer, sorted(loading["missing_keys"])


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
