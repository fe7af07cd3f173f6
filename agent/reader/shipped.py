"""The files that ship with the reader: models and word tables."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Literal

import numpy as np

from agent.reader.tokens import Language
from retrieval.errors import DocsageError

if TYPE_CHECKING:
    import lightgbm

Part = Literal["spans", "answerable", "pages"]
"""The models: which span is best, whether it is right, and whether it is right when it was looked for over pages."""
_LAST_OF_TREES = "\nend of trees\n"


@lru_cache(maxsize=6)
def model(language: Language, part: Part) -> lightgbm.Booster:
    """A model; DocsageError when its file is missing or damaged."""
    import lightgbm

    name = f"{language}-{part}.txt.gz"
    try:
        text = gzip.decompress(_content(name)).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise _damaged(name, error) from error
    if _LAST_OF_TREES not in text:
        # LightGBM ends the whole process when a model stops in the middle of a tree.
        raise _damaged(name, ValueError("it ends too early"))
    return lightgbm.Booster(model_str=text)


@lru_cache(maxsize=2)
def stored_words(language: Language) -> dict[str, np.ndarray]:
    """The word table of a language; DocsageError when its file is missing or damaged."""
    name = f"{language}-words.npz"
    try:
        return dict(np.load(io.BytesIO(_content(name)), allow_pickle=False))
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(name, error) from error


def _content(name: str) -> bytes:
    return resources.files("agent.reader.models").joinpath(name).read_bytes()


def _damaged(name: str, error: Exception) -> DocsageError:
    return DocsageError(f"the reader's file {name} is missing or damaged ({error})", remedy="install docsage again")
