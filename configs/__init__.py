"""The profiles that ship with docsage: one YAML file each."""

from __future__ import annotations

from importlib.resources import files


def names() -> tuple[str, ...]:
    """The names of the shipped profiles."""
    return tuple(sorted(entry.name[:-5] for entry in files(__name__).iterdir() if entry.name.endswith(".yaml")))


def text(name: str) -> str:
    """The YAML of one shipped profile (one of `names()`)."""
    return files(__name__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
