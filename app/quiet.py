"""Keeps what libraries say about themselves away from the user, and our own words from a reader that has gone."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import warnings

_NOISY = ("jieba", "RapidOCR", "rapidocr", "pymupdf", "langgraph", "langchain_core", "opencc", "faiss", "filelock")


def silence_libraries(*, debug: bool = False) -> None:
    """Hide warnings and logs of libraries in this process and its children; with `debug` everything stays audible.

    It must run before the libraries are imported. Environment variables that the user has set are kept.
    """
    if debug:
        return
    # MuPDF's complaints about damaged files go to stdout by default; the files' own one-line report is ours.
    os.environ.setdefault("PYMUPDF_MESSAGE", f"path:{os.devnull}")
    os.environ.setdefault("PYMUPDF_SUGGEST_LAYOUT_ANALYZER", "0")
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    warnings.simplefilter("ignore")
    for name in _NOISY:
        # A filter, not a level: jieba and RapidOCR set their own level when they are imported.
        logging.getLogger(name).addFilter(_is_error)


def silence_stdout() -> None:
    """Send what is still to be printed nowhere. Python would complain once more when it flushes at exit."""
    with contextlib.suppress(io.UnsupportedOperation, ValueError):  # it isn't a file, or is closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_error(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR
