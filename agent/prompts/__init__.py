"""The prompts: one YAML file a role, versioned, English and Chinese. Page text is fenced as data."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from string import Template
from typing import Literal

import yaml

from agent.models.types import Role
from retrieval.types import Frozen

Language = Literal["en", "zh"]


class Words(Frozen):
    """A prompt in one language; `user` has $fields."""

    system: str
    user: str


class PromptFile(Frozen):
    """One role's prompts. `variants` has the words by variant (such as the task) and language."""

    version: str
    variants: dict[str, dict[Language, Words]]

    def words(self, variant: str, language: Language) -> Words:
        """The words of a variant; KeyError when the file doesn't have it."""
        return self.variants[variant][language]


@cache
def prompt_file(role: Role) -> PromptFile:
    """The prompts of a role."""
    text = files(__name__).joinpath(f"{role}.yaml").read_text(encoding="utf-8")
    return PromptFile.model_validate(yaml.safe_load(text))


def render(role: Role, variant: str, language: Language, **fields: str) -> tuple[str, str, str]:
    """System text, user text and version of a prompt with its fields filled in; KeyError when one is missing."""
    file = prompt_file(role)
    words = file.words(variant, language)
    version = f"{role}/{file.version}"
    return words.system.strip(), Template(words.user).substitute(fields).strip(), version


def fenced(text: str) -> str:
    """A text from a document between marks that it can't hold itself: they carry a hash of it."""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"<<<DATA {mark}\n{text}\nDATA {mark}>>>"


def repair(problem: str, language: Language | str) -> str:
    """What is said of a reply that can't be used."""
    words = prompt_file("plan").variants["repair"]["zh" if language == "zh" else "en"]
    return Template(words.user).substitute(problem=problem).strip()
