"""Work in batches that fit into the memory of a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from retrieval.embedders.loading import free_memory, is_out_of_memory

T = TypeVar("T")


class TooLarge(Exception):
    """The item with the number `item` doesn't fit into the memory even alone."""

    def __init__(self, item: int) -> None:
        super().__init__(f"item {item} doesn't fit into the memory")
        self.item = item


class Batches:
    """Splits work by a budget of tokens, which shrinks when the memory doesn't suffice and stays so.

    A batch costs its number of items times its longest one, for shorter ones are padded.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget

    def run(self, costs: Sequence[int], work: Callable[[list[int]], list[T]]) -> list[T]:
        """What `work` makes of the items, in their order. `work` takes numbers of items and gives one result each.

        The longest go first, so that memory runs out at the start if it does. Out of memory halves the batch and goes
        on; TooLarge when a single item has no room.
        """
        waiting = sorted(range(len(costs)), key=lambda item: (-costs[item], item))
        results: dict[int, T] = {}
        while waiting:
            size = max(1, min(len(waiting), self.budget // max(1, costs[waiting[0]])))
            batch = waiting[:size]
            made = self._attempt(batch, work)
            if made is None:
                # Nothing holds the tensors of the failed attempt any more.
                free_memory()
                if size == 1:
                    raise TooLarge(batch[0])
                self.budget = max(1, size // 2 * costs[waiting[0]])
                continue
            results.update(zip(batch, made, strict=True))
            waiting = waiting[size:]
        return [results[item] for item in range(len(costs))]

    @staticmethod
    def _attempt(batch: list[int], work: Callable[[list[int]], list[T]]) -> list[T] | None:
        """The results, or None when the memory ran out."""
        try:
            return work(batch)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return None
