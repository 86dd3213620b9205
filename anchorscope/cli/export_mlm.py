"""``anchorscope export-mlm``: the embedded masked language model as a Hugging Face folder, for other tools."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from anchorscope.cli import options
from anchorscope.errors import RunFolderError

DESCRIPTION = "Write the embedded masked language model as a Hugging Face folder, weights and tokenizer."


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("folder", type=options.a_path, metavar="DIR", help="a folder that is new or empty")


def run(given: Mapping[str, Any], output: TextIO) -> int:
    """Write the folder, print where it is, and give the exit status."""
    from anchorscope.embedded_model.huggingface import write_folder

    folder: Path = given["folder"]
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise RunFolderError(f"{folder} is there already; name a folder that is new or empty.")
    try:
        write_folder(folder)
    except OSError as error:
        raise RunFolderError(f"{folder} cannot be written ({error.strerror}); name another folder.") from error
    print(folder, file=output)
    return 0
