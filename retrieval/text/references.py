"""References to places in a document: "page 14", "slides 3-5", "Figure 2", "Section 4.1", "the cover", 图3, 第12页.

`references` reads them from a question. `anchor_terms` gives the index terms under which a line that is such a place
(a caption, a numbered heading) is found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENGLISH_KINDS = {
    "figure": "figure", "figures": "figure", "fig": "figure", "figs": "figure", "table": "table", "tables": "table",
    "chart": "chart", "charts": "chart", "exhibit": "exhibit", "exhibits": "exhibit", "appendix": "appendix",
    "section": "section", "sections": "section", "chapter": "chapter", "chapters": "chapter", "equation": "equation",
    "box": "box", "algorithm": "algorithm", "part": "part", "item": "item", "note": "note", "step": "step",
}  # fmt: skip
_CHINESE_KINDS = {"图": "figure", "圖": "figure", "表": "table", "章": "chapter", "节": "section", "節": "section"}
_KIND = rf"(?i:({'|'.join(_ENGLISH_KINDS)}))(?:\.?\s+|\.|(?=\d))(?i:no\.?\s*)?"
_NUMBER = r"([A-Za-z]{0,2}-?\d+(?:\.\d+)*[a-z]?|[IVX]{1,5}|[A-Z])"
_NAMED = re.compile(rf"\b{_KIND}{_NUMBER}\b(?![-']?[a-z])")
_NAMED_CHINESE = re.compile(r"([图圖表])\s*(\d+(?:[.\-]\d+)*)|第\s*(\d+|[一二三四五六七八九十百]+)\s*([章节節])")
_PAGES = re.compile(
    r"\b(?:pages?|slides?|pp?\.)\s*(?:no\.?|number)?\s*"
    r"(\d{1,4}(?:\s*(?:-|–|to|and|,|&|through)\s*(?:pages?|slides?)?\s*\d{1,4})*)\b",
    re.IGNORECASE,
)
_PAGES_CHINESE = re.compile(r"第\s*(\d+)\s*(?:[-–到至]\s*(\d+)\s*)?[页頁]")
_ORDINAL_PAGE = re.compile(
    r"\b(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|final|cover|title|front|back|"
    r"\d{1,3}(?:st|nd|rd|th))\s+(?:(\d+|two|three|four|five)\s+)?(?:page|slide|cover)s?\b|"
    r"\bon the (cover)\b|(封面)|(首[页頁])|(末[页頁]|最后一[页頁])",
    re.IGNORECASE,
)
_ORDINALS = {
    "first": 1, "cover": 1, "title": 1, "front": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6,
    "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "last": -1, "final": -1, "back": -1,
}  # fmt: skip
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5}
_OF_KIND = re.compile(
    r"\bhow many (?:\w+ ){0,2}?(figures?|tables?|charts?|sections?|chapters?|exhibits?)\b", re.IGNORECASE
)
_ANCHOR = re.compile(rf"^\W*{_KIND}{_NUMBER}(?=$|[\s:.)|—–-])")
_ANCHOR_CHINESE = re.compile(
    r"^\W*(?:([图圖表])\s*(\d+(?:[.\-]\d+)*)|第\s*(\d+|[一二三四五六七八九十百]+)\s*([章节節]))"
)
_NUMBERED_HEADING = re.compile(r"^\s*(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[A-Z㐀-鿿]")
_STATEMENT = re.compile(
    r"^\W*(?:consolidated |condensed |combined |unaudited |interim )*"
    r"(?:(statements? of (?:consolidated )?(?:comprehensive |net )?(?:income|operations|earnings)|income statements?|"
    r"statements? of profit (?:and|or) loss|(?:合并|合並)?(?:利润表|利潤表))|"
    r"(balance sheets?|statements? of (?:consolidated )?financial (?:position|condition)|"
    r"(?:合并)?(?:资产负债表|資產負債表))|"
    r"((?:statements? of (?:consolidated )?)?cash flows?(?: statements?)?|(?:合并)?(?:现金流量表|現金流量表)))"
    r"(?:\W+(?:unaudited|continued|loss|and).{0,40})?\W*$",
    re.IGNORECASE,
)
_IN_APPENDIX = re.compile(
    r"\b(?:in|of|from) (?:the|its|their) (?:appendix|appendices|supplementary material)\b|附录|附錄", re.I
)
_APPENDIX_HEADING = re.compile(
    r"^\W*(?:[A-Z]\.?\s+)?(?:Appendix|Appendices|APPENDIX|APPENDICES|Supplementary Materials?|附录|附錄)\W*$"
)
_FRONT = re.compile(
    r"\blogos?\b|\bauthors?\b|\baffiliat|\bpublished\b|\bpublication date\b|\bpublisher\b|\bwho (?:wrote|prepared)\b|"
    r"\btitle of (?:this|the) (?:report|paper|document|book|article|guide\w*|presentation|slides?)\b|"
    r"作者|出版|标题|標題|题名|題名",
    re.IGNORECASE,
)
APPENDIX = "=appendix"
_MAX_RANGE = 100
STATEMENT_TITLE_LENGTH = 120
STATEMENT_FIGURES = 12
"""A page that is headed like a financial statement is one only if at least this many of its lines are figures."""


@dataclass(frozen=True, slots=True)
class References:
    """What a question names: pages (negative: from the end), anchor terms of numbered things and of kinds of things.

    `front` says that it asks for what a document's first page tells: title, authors, logo, date of publication.
    """

    pages: tuple[int, ...] = ()
    anchors: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    front: bool = False

    def __bool__(self) -> bool:
        return bool(self.pages or self.anchors or self.kinds or self.front)


def references(question: str) -> References:
    """The places that `question` names, in the order in which it names them."""
    pages: list[int] = []
    for found in _PAGES.finditer(question):
        pages += _page_range(found[1])
    for found in _PAGES_CHINESE.finditer(question):
        first, last = int(found[1]), int(found[2] or found[1])
        pages += range(first, min(last, first + _MAX_RANGE) + 1)
    for found in _ORDINAL_PAGE.finditer(question):
        pages += _ordinal(found)
    anchors = [_anchor(m[1], m[2]) for m in _NAMED.finditer(question)]
    anchors += [_anchor_chinese(m) for m in _NAMED_CHINESE.finditer(question)]
    kinds = [_kind_term(_ENGLISH_KINDS[m[1].lower()]) for m in _OF_KIND.finditer(question)]
    if _IN_APPENDIX.search(question):
        kinds.append(APPENDIX)
    return References(
        pages=tuple(dict.fromkeys(pages)),
        anchors=tuple(dict.fromkeys(anchors)),
        kinds=tuple(dict.fromkeys(kinds)),
        front=bool(_FRONT.search(question)),
    )


def anchor_terms(line: str) -> list[str]:
    """Index terms of a line that is a caption or a numbered heading: its kind and number, and its kind alone."""
    if line[:1].islower():
        return []
    found = _ANCHOR.match(line)
    if found:
        term = _anchor(found[1], found[2])
    elif chinese := _ANCHOR_CHINESE.match(line):
        term = _anchor_chinese(chinese)
    elif heading := _NUMBERED_HEADING.match(line):
        return [f"=section:{heading[1]}"]
    elif _APPENDIX_HEADING.match(line):
        return [APPENDIX]
    else:
        return []
    return [term, _kind_term(term[1:].split(":")[0])]


def statement_term(title: str) -> str | None:
    """The index term of a page that is headed `title`, if that is the title of a financial statement."""
    found = _STATEMENT.match(title) if len(title) < STATEMENT_TITLE_LENGTH else None
    if not found:
        return None
    return "=statement:" + ("income" if found[1] else "balance" if found[2] else "cash")


def _anchor(kind: str, number: str) -> str:
    return f"={_ENGLISH_KINDS[kind.lower()]}:{number.lower()}"


def _anchor_chinese(found: re.Match[str]) -> str:
    kind, number = (found[1], found[2]) if found[1] else (found[4], found[3])
    return f"={_CHINESE_KINDS[kind]}:{number}"


def _kind_term(kind: str) -> str:
    return f"={kind}"


def _page_range(text: str) -> list[int]:
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    if len(numbers) == 2 and re.search(r"-|–|to|through", text) and 0 < numbers[1] - numbers[0] <= _MAX_RANGE:
        return list(range(numbers[0], numbers[1] + 1))
    return [n for n in numbers if n > 0]


def _ordinal(found: re.Match[str]) -> list[int]:
    if found[3] or found[4] or found[5]:
        return [1]
    if found[6]:
        return [-1]
    word = found[1].lower()
    start = _ORDINALS[word] if word in _ORDINALS else int(re.sub(r"\D", "", word))
    count = _COUNTS.get((found[2] or "").lower(), int(found[2]) if (found[2] or "").isdigit() else 1)
    count = min(count, _MAX_RANGE)
    return [-i for i in range(1, count + 1)] if start == -1 else list(range(start, start + count))
