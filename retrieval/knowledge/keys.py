"""The keys of a pool, looked up by a term and in the text of a question."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from retrieval.knowledge.characters import stands_alone, units

SHORTEST = 2
"""Characters that a key must have to be looked for in other text, and a term to be looked for in keys."""
_MOST_CONTAINING = 5000


class KeyMatch(NamedTuple):
    """A key by its number, and the share of the longer text that the shorter one makes up."""

    key: int
    share: float


class KeyTable:
    """Keys in the form that `characters.key_form` gives, each one once; they are named by their place in `forms`."""

    def __init__(self, forms: Sequence[str]) -> None:
        self.forms = tuple(forms)
        self._numbers = {form: number for number, form in enumerate(self.forms)}
        self._joined = "\n".join(self.forms)
        self._starts = list(accumulate((len(form) + 1 for form in self.forms), initial=0))
        lengths: dict[str, set[int]] = defaultdict(set)
        for form in self.forms:
            if len(form) >= SHORTEST:
                lengths[form[:SHORTEST]].add(len(form))
        self._lengths = {start: sorted(found) for start, found in lengths.items()}

    def exact(self, form: str) -> int | None:
        """The key that is equal to a term."""
        return self._numbers.get(form)

    def within(self, text: str) -> Iterator[int]:
        """The keys that stand in a folded text as whole words, in the order of their first places there."""
        seen: set[int] = set()
        for start in range(len(text) - SHORTEST + 1):
            for length in self._lengths.get(text[start : start + SHORTEST], ()):
                number = self._numbers.get(text[start : start + length])
                if number is not None and number not in seen and stands_alone(text, start, start + length):
                    seen.add(number)
                    yield number

    def overlapping(self, form: str) -> Iterator[KeyMatch]:
        """Other keys that contain a term, and other keys that the term contains."""
        if len(form) < SHORTEST or len(units(form)) == 0:
            return
        for number in self.within(form):
            if self.forms[number] != form:
                yield KeyMatch(number, len(self.forms[number]) / len(form))
        for number in self._containing(form):
            yield KeyMatch(number, len(form) / len(self.forms[number]))

    def _containing(self, form: str) -> Iterator[int]:
        at, found = self._joined.find(form), 0
        while at >= 0 and found < _MOST_CONTAINING:
            number = bisect_right(self._starts, at) - 1
            start = self._starts[number]
            key = self.forms[number]
            if key != form and stands_alone(key, at - start, at - start + len(form)):
                found += 1
                yield number
            at = self._joined.find(form, self._starts[number + 1])
