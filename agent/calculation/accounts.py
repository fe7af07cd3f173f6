"""Accounts of financial statements and ratios of them, as questions and rows call them (`accounts.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

import yaml

from agent.matching import is_chinese
from tools.characters import normalize

Statement = Literal["income", "balance", "cash"]
STATEMENTS: tuple[tuple[Statement, re.Pattern[str]], ...] = (
    ("cash", re.compile(r"\bstatements? of (?:\w+ )?cash ?flows?|\bcash flow statements?|现金流量表", re.IGNORECASE)),
    (
        "balance",
        re.compile(r"\bbalance sheets?\b|statements? of (?:financial (?:position|condition))|资产负债表", re.I),
    ),
    (
        "income",
        re.compile(
            r"\bstatements? of (?:\w+ )?(?:income|operations|earnings|profit)|\bincome statements?|利润表", re.I
        ),
    ),
)
"""How the heading of a page names the statement that it is."""
_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_PUNCTUATION = re.compile(r"[\s,.;:：，、/–—‐-]+")
_SPARE = 0.12
_MOST_SPARE = 2
_OTHER_THINGS = frozenset(
    "other per share deferred change changes increase decrease percent ratio average noncash excluding before less"
    " unrealized gain loss from on purchases sales proceeds weighted diluted basic segment growth attributable"
    " operating finance financing investing".split()
)
"""Words that make another thing of an account's name."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account: its names, commonest first, its statement, and the formula that stands for it where no row does."""

    id: str
    names: tuple[str, ...]
    statement: Statement | None
    formula: str | None = None
    signed: bool = False

    def match(self, label: str) -> float:
        """How surely a row of this label is the account: 1 for its first name, less for others and for spare words."""
        plain = plain_name(label)
        if plain in self.names:
            return 1 - 0.01 * self.names.index(plain)
        words = set(plain.split())
        best = 0.0
        for place, name in enumerate(self.names):
            spare = words - set(name.split())
            if len(name.split()) > 1 and set(name.split()) <= words and len(spare) <= _MOST_SPARE:
                if not spare & _OTHER_THINGS:
                    best = max(best, 0.9 - _SPARE * len(spare) - 0.01 * place)
            elif is_chinese(name) and name in plain and len(plain) <= len(name) + 4:
                best = max(best, 0.8 - 0.01 * place)
        return best


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio, margin or amount that is computed from accounts. `percent`: the result is one."""

    id: str
    names: tuple[str, ...]
    formula: str
    percent: bool = False


def plain_name(text: str) -> str:
    """A label or name as it is compared: simplified, lower case, without brackets, apostrophes and punctuation."""
    text = _BRACKETS.sub(" ", normalize(text).text.lower())
    return _PUNCTUATION.sub(" ", re.sub(r"[’'`$]", "", text)).strip()


@lru_cache(maxsize=1)
def accounts() -> Mapping[str, Account]:
    """All accounts by id."""
    return {
        id_: Account(id_, _names(entry), entry.get("statement"), entry.get("formula"), bool(entry.get("signed")))
        for id_, entry in _definitions()["accounts"].items()
    }


@lru_cache(maxsize=1)
def ratios() -> Mapping[str, Ratio]:
    """All ratios by id."""
    return {
        id_: Ratio(id_, _names(entry), entry["formula"], bool(entry.get("percent")))
        for id_, entry in _definitions()["ratios"].items()
    }


def _names(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(plain_name(name) for name in entry["names"])


def _definitions() -> dict[str, dict[str, dict[str, Any]]]:
    text = resources.files("agent.calculation").joinpath("accounts.yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(text)
    return found
