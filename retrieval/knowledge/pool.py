"""A frozen pool, opened for look-ups: every match names its grounds (SAGE, appendix C.5)."""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
from pydantic import ValidationError

from retrieval.errors import InputError
from retrieval.knowledge.building import MANIFEST, SNIPPETS
from retrieval.knowledge.characters import folded, key_form
from retrieval.knowledge.keys import KeyTable
from retrieval.knowledge.overlap import MOST_SNIPPETS, OverlapIndex, Overlaps
from retrieval.knowledge.types import Basis, Manifest, PoolHit, Snippet
from retrieval.knowledge.years import arabic_years, years_in, years_of_term
from retrieval.text.queries import subject
from retrieval.text.tokens import CHINESE_STOP_CHARACTERS

MOST_HITS = 8
"""Snippets a call (SAGE, appendix C.6)."""
LEAST_OVERLAP = 0.25
"""Share of a question's character pairs, weighed by rarity, from which a snippet matches by them alone."""
_FEWEST = 2
"""Pairs that a snippet must share with a question that has more than one."""
_EXACT, _IN_QUESTION, _KEY_YEAR, _SUBSTRING, _TEXT_YEAR, _OVERLAP = 1.0, 0.8, 0.85, 0.5, 0.55, 0.5
_TELLING = 6
"""Characters from which a key that stands in the question is as telling as it gets."""
_COMMON, _COMMON_BY = 20, 10
"""A word that a hundredth of all snippets and this many use, and ten times more than have it as a key, is common."""
_SAME = 0.85
"""Share of the shorter snippet's pairs from which two snippets say the same."""
_QUESTION_WEIGHT = 0.5
_LONGEST_QUESTION = 4000


class _Ground(NamedTuple):
    basis: Basis
    weight: float
    matched: str


_Grounds = dict[int, dict[Basis, _Ground]]


class Pool:
    """The snippets of one pool. It never changes, so that any number of threads may ask it at once."""

    def __init__(self, manifest: Manifest, content: bytes) -> None:
        self.manifest = manifest
        self._lines = content.splitlines()
        rows = [orjson.loads(line) for line in self._lines]
        holders: dict[str, list[int]] = defaultdict(list)
        texts: list[str] = []
        self._by_key_year: dict[int, list[int]] = defaultdict(list)
        self._by_text_year: dict[int, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            forms = dict.fromkeys(key_form(key) for key in row["keys"])
            for form in forms:
                holders[form].append(number)
            texts.append(f"{' '.join(forms)} {folded(row['text'])}")
            for year in row["key_years"]:
                self._by_key_year[year].append(number)
            for year in row["text_years"]:
                self._by_text_year[year].append(number)
        self._keys = KeyTable(tuple(holders))
        self._holders = tuple(holders.values())
        self._dated = _dated(self._keys.forms)
        self._dated_keys = KeyTable(tuple(self._dated))
        self._overlap = OverlapIndex(texts)

    @classmethod
    def open(cls, root: Path) -> Pool:
        """The pool in a folder, indexed. InputError when the folder holds none, or not what was frozen in it.

        It blocks: some seconds for 100,000 snippets.
        """
        manifest = _manifest(root)
        try:
            content = (root / SNIPPETS).read_bytes()
        except OSError as error:
            raise InputError(
                f"{root / SNIPPETS} can't be read ({error.strerror})", remedy="build the pool again"
            ) from error
        if hashlib.sha256(content).hexdigest() != manifest.sha256:
            raise InputError(
                f"{root / SNIPPETS} was changed since the pool was frozen",
                remedy="put it back, or build another pool with `docsage pool build`",
            )
        if manifest.snippets > MOST_SNIPPETS:
            raise InputError(f"{root} has {manifest.snippets} snippets", remedy=f"{MOST_SNIPPETS} are the most")
        try:
            return cls(manifest, content)
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(f"{root / SNIPPETS} holds no snippets ({error})", remedy="build the pool again") from error

    @property
    def id(self) -> str:
        """The beginning of the hash over all snippets, which tells pools apart."""
        return self.manifest.sha256[:12]

    def __len__(self) -> int:
        """How many snippets it has."""
        return len(self._lines)

    def match(self, terms: Sequence[str], question: str = "", *, limit: int = MOST_HITS) -> tuple[PoolHit, ...]:
        """The snippets that terms and a question match, best first, none that says what a better one says.

        Grounds, in the order of their weights: a term is a key; a year of a term or of the question is one that a key
        names; a key stands in the question; a term and a key contain each other; the text names the year; the snippet
        shares a quarter of the question's pairs of characters. Common words match as exact keys only. At most `limit`,
        and never more than eight; none is a result.
        """
        asked = folded(subject(question[:_LONGEST_QUESTION])) if question else ""
        forms = tuple(dict.fromkeys(form for term in terms if (form := key_form(term))))
        overlaps = self._overlaps(forms, asked)
        grounds: _Grounds = defaultdict(dict)
        for number, ground in itertools.chain(self._grounds(forms, asked), _by_overlap(overlaps)):
            known = grounds[number].get(ground.basis)
            if known is None or ground.weight > known.weight:
                grounds[number][ground.basis] = ground
        hits = ((number, _ranked(found), float(overlaps.shares[number])) for number, found in grounds.items())
        scored = sorted(
            ((0.9 * found[0].weight + 0.1 * share, number, found) for number, found, share in hits), key=_order
        )
        return self._distinct(scored, min(limit, MOST_HITS))

    def _overlaps(self, forms: Sequence[str], asked: str) -> Overlaps:
        # In a question such pairs only ask; in a term they may be the thing itself.
        telling = self._overlap.units(asked, leave_out=CHINESE_STOP_CHARACTERS)
        weights = dict.fromkeys(telling, _QUESTION_WEIGHT)
        weights |= {unit: 1.0 for form in forms for unit in self._overlap.units(form)}
        return self._overlap.overlaps(weights)

    def _grounds(self, forms: Sequence[str], asked: str) -> Iterator[tuple[int, _Ground]]:
        """Every ground on which a snippet matches by its keys and its years."""
        for form in forms:
            if (key := self._keys.exact(form)) is not None:
                yield from self._by_key(key, "exact key", _EXACT)
            for match in self._keys.overlapping(form):
                shorter = min(form, self._keys.forms[match.key], key=len)
                if not self._is_common(shorter):
                    yield from self._by_key(match.key, "substring", _SUBSTRING + 0.3 * match.share)
            for dated in self._same_year(arabic_years(form)):
                if self._keys.forms[dated] != form:
                    yield from self._by_key(dated, "year-equivalent", _KEY_YEAR)
        for key in self._keys.within(asked):
            form = self._keys.forms[key]
            if not self._is_common(form):
                weight = _IN_QUESTION + 0.1 * min(len(form), _TELLING) / _TELLING
                yield from self._by_key(key, "key in question", weight)
        for number in self._dated_keys.within(arabic_years(asked)):
            for key in self._dated[self._dated_keys.forms[number]]:
                if self._keys.forms[key] not in asked:
                    yield from self._by_key(key, "year-equivalent", _KEY_YEAR)
        yield from self._by_year(forms, asked)

    def _is_common(self, form: str) -> bool:
        """Whether the snippets use a word all the time and few of them are about it (不可, 然后)."""
        key = self._keys.exact(form)
        about = 0 if key is None else len(self._holders[key])
        using = self._overlap.holders(form)
        return using >= max(_COMMON, len(self) // 100) and using > _COMMON_BY * about

    def _by_key(self, key: int, basis: Basis, weight: float) -> Iterator[tuple[int, _Ground]]:
        ground = _Ground(basis, weight, self._keys.forms[key])
        for number in self._holders[key]:
            yield number, ground

    def _same_year(self, form: str) -> Iterable[int]:
        return self._dated.get(form, ())

    def _by_year(self, forms: Sequence[str], asked: str) -> Iterator[tuple[int, _Ground]]:
        years = {year for form in forms for year in years_of_term(form)} | set(years_in(asked))
        for year in sorted(years):
            named = str(year) if year > 0 else f"{-year} BC"
            for number in self._by_key_year.get(year, ()):
                yield number, _Ground("year-equivalent", _KEY_YEAR, named)
            for number in self._by_text_year.get(year, ()):
                yield number, _Ground("year-equivalent", _TEXT_YEAR, named)

    def _distinct(self, scored: Iterable[tuple[float, int, tuple[_Ground, ...]]], limit: int) -> tuple[PoolHit, ...]:
        kept: list[PoolHit] = []
        told: list[set[int]] = []
        for score, number, grounds in scored:
            if len(kept) >= limit:
                break
            snippet = Snippet.model_validate_json(self._lines[number])
            units = self._overlap.units(folded(snippet.text))
            if any(len(units & other) >= _SAME * max(min(len(units), len(other)), 1) for other in told):
                continue
            told.append(units)
            bases = tuple(ground.basis for ground in grounds)
            kept.append(PoolHit(snippet=snippet, bases=bases, matched=grounds[0].matched, score=round(score, 4)))
        return tuple(kept)


def _by_overlap(overlaps: Overlaps) -> Iterator[tuple[int, _Ground]]:
    for at in np.flatnonzero((overlaps.shares >= LEAST_OVERLAP) & (overlaps.counts >= min(_FEWEST, overlaps.asked))):
        yield int(at), _Ground("character overlap", _OVERLAP * float(overlaps.shares[at]), "")


def _order(item: tuple[float, int, tuple[_Ground, ...]]) -> tuple[float, int]:
    return -item[0], item[1]


def _ranked(found: dict[Basis, _Ground]) -> tuple[_Ground, ...]:
    return tuple(sorted(found.values(), key=lambda ground: -ground.weight))


def _dated(forms: Sequence[str]) -> dict[str, list[int]]:
    """Keys that name a year, by the form that has its numeral in digits."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, form in enumerate(forms):
        dated = arabic_years(form)
        if "年" in dated and any(character.isdigit() for character in dated):
            found[dated].append(number)
    return dict(found)


def _manifest(root: Path) -> Manifest:
    path = root / MANIFEST
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        why = "it does not exist" if not root.exists() else f"there is no {MANIFEST} in it"
        raise InputError(f"{root} is no pool: {why}", remedy="build one with `docsage pool build`") from error
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        schema = error.errors()[0]
        raise InputError(
            f"{path} describes no pool of this version ({'.'.join(map(str, schema['loc']))}: {schema['msg']})",
            remedy="build it again with `docsage pool build`",
        ) from error
