"""The tools by name. A tool's module is imported when the tool is first made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import ValidationError

from tools.base import Arguments, Tool, ToolContext, ToolResult, ToolRetry


def _page_reader() -> Tool:
    from tools.page_reader import PageReader

    return PageReader()


def _page_retriever() -> Tool:
    from tools.page_retriever import PageRetriever

    return PageRetriever()


def _relevance_filter() -> Tool:
    from tools.relevance_filter import RelevanceFilter

    return RelevanceFilter()


def _region_locator() -> Tool:
    from tools.region_locator import RegionLocator

    return RegionLocator()


def _char_normalizer() -> Tool:
    from tools.char_normalizer import CharNormalizer

    return CharNormalizer()


def _term_extractor() -> Tool:
    from tools.term_extractor import TermExtractor

    return TermExtractor()


def _evidence_retriever() -> Tool:
    from tools.evidence_retriever import EvidenceRetriever

    return EvidenceRetriever()


def _calculator() -> Tool:
    from tools.calculator import Calculator

    return Calculator()


def _inventory() -> Tool:
    from tools.inventory import Inventory

    return Inventory()


TOOLS: dict[str, Callable[[], Tool]] = {
    "page_reader": _page_reader,
    "page_retriever": _page_retriever,
    "relevance_filter": _relevance_filter,
    "region_locator": _region_locator,
    "char_normalizer": _char_normalizer,
    "term_extractor": _term_extractor,
    "evidence_retriever": _evidence_retriever,
    "calculator": _calculator,
    "inventory": _inventory,
}


class Registry:
    """The tools that one agent may call, made on first use."""

    def __init__(self, tools: dict[str, Callable[[], Tool]] | None = None) -> None:
        self._factories = dict(TOOLS if tools is None else tools)
        self._made: dict[str, Tool] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in order of registration."""
        return tuple(self._factories)

    def get(self, name: str) -> Tool:
        """The tool of this name; ToolRetry lists the known ones when there is none."""
        if name not in self._factories:
            raise ToolRetry(f"there is no tool {name!r}", remedy=f"the tools are {', '.join(self.names)}")
        if name not in self._made:
            self._made[name] = self._factories[name]()
        return self._made[name]

    def unknown(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of `names` that are no tool here."""
        return tuple(name for name in dict.fromkeys(names) if name not in self._factories)

    def parse(self, name: str, arguments: dict[str, Any]) -> Arguments:
        """Arguments checked against the tool's schema; ToolRetry says what is wrong with them."""
        tool = self.get(name)
        try:
            return tool.arguments.model_validate(arguments)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors())
            known = ", ".join(tool.arguments.model_fields)
            raise ToolRetry(f"{name} refuses {arguments!r} ({wrong})", remedy=f"its arguments are {known}") from error

    async def run(self, name: str, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Check the arguments and run the tool."""
        return await self.get(name).run(context, self.parse(name, arguments))
