"""What a document has one after another: references, sections, chapters, authors, questions, mentions of a phrase."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from retrieval.text.tokens import is_cjk
from retrieval.types import Page
from tools.captions import Found
from tools.parts import Stretch, first_lines, headings, is_references_heading

_ENTRY = re.compile(r"^\W{0,1}[\[［【(（]?(\d{1,4})(?:[\]］】)）]|\.(?=\s|$|\D)|\s(?=[A-Z一-鿿]))")
_STARTS_ENTRY = re.compile(r"^[A-Z][\w’'\-]+,? .*|^[A-Z]\w+.*\b(?:19|20)\d\d")
_QUESTION = re.compile(r"^\W{0,2}(?:(?:Q|Question)\.?\s?|第)(\d{1,3})(?:题|題|[a-z]?\b)", re.IGNORECASE)
_STEP = re.compile(
    r"^\W{0,2}(?:step\s?(\d{1,2})\b|第([一二三四五六七八九十]|\d{1,2})步|步骤\s?([一二三四五六七八九十]|\d{1,2}))", re.I
)
_APPENDIX = re.compile(
    r"^\W{0,2}(?:Appendix|APPENDIX|Annex|附录|附錄)\s*([A-Z]|\d{1,2}|[一二三四五六七八九十])(?![a-z])"
)
_CHAPTER = re.compile(
    r"^\W{0,2}(?:(?i:chapter)\s+(\d{1,2}|[IVX]{1,5})\b|第\s*(\d{1,2}|[一二三四五六七八九十]{1,3})\s*章)"
)
_PERSON = re.compile(r"(?:[A-ZÀ-Þ][\w’'.\-]*\s+){1,3}(?:(?:de|van|von|der|den|da|la|bin|al)\s+)*[A-ZÀ-Þ][\w’'\-]+")
_PLACE = re.compile(
    r"\b(?:Universit\w+|Institut\w*|Departments?|School|College|Labs?|Laborator\w+|Inc|Ltd|Corp\w*|Research|Center|Centre|"
    r"Academy|Faculty|Technolog\w+|Science|China|USA|Group|AI|Engineering|Conference|Proceedings|Journal|Google|DeepMind|"
    r"Microsoft|Meta|OpenAI|Amazon|Alibaba|Tencent|Huawei|Baidu|NVIDIA|IBM)\b"
)
_ABSTRACT = re.compile(r"^\W*(?:abstract|摘\s*要|introduction|summary|\d\.?\s+introduction)\b", re.IGNORECASE)
_HEAD_LINES = 60
_OPENING = 5


def references(stretches: Sequence[Stretch]) -> tuple[list[Found], float]:
    """(entries of a list of references, probability that they are all): numbered ones, else by hanging indents."""
    found = _numbered_run(stretches)
    opening = range(stretches[0].first, stretches[0].first + _OPENING) if stretches else range(0)
    if len(found) >= 3 and found[0].page == stretches[0].page and found[0].lines[0] in opening:
        return found, 0.85
    entries: list[Found] = []
    for stretch in stretches:
        entries += _hanging(stretch)
    return entries, 0.35 if len(entries) >= 5 else 0.0


def sections(pages: Sequence[Page], stretches: Sequence[Stretch], inside: str) -> tuple[list[Found], float]:
    """Numbered sections of the top level, or those right inside of section `inside`: the run 1, 2, 3 and so on."""
    reach = {stretch.page.ref: stretch for stretch in stretches}
    candidates: list[tuple[int, Found]] = []
    for heading in headings(pages):
        page = pages[heading.at]
        stretch = reach.get(page.ref)
        number = heading.number.removeprefix(f"{inside}.") if inside else heading.number
        if stretch is None or not stretch.first <= heading.line < stretch.stop or not number.isdigit():
            continue
        if not inside or heading.number != number:
            candidates.append((int(number), Found(page, (heading.line,), heading.text.strip(), heading.number)))
    # Affiliations and table rows have numbers too: the longest run wins, of equal ones the later.
    runs = [_run(candidates[at:]) for at, (number, _) in enumerate(candidates) if number == 1]
    found = max(reversed(runs), key=len, default=[])
    return found, 0.7 if len(found) >= 2 else 0.0


def _run(candidates: Sequence[tuple[int, Found]]) -> list[Found]:
    found: list[Found] = []
    for number, item in candidates:
        if number == len(found) + 1:
            found.append(item)
    return found


def numbered(stretches: Sequence[Stretch], kind: str) -> tuple[list[Found], float]:
    """Chapters, appendices, questions or steps by their distinct numbers at the start of a line."""
    pattern = {"chapter": _CHAPTER, "appendix": _APPENDIX, "question": _QUESTION, "step": _STEP}[kind]
    found: dict[str, Found] = {}
    for stretch in stretches:
        for block, _ in first_lines(stretch.page):
            for i in block.lines if block.kind != "paragraph" else block.lines[:1]:
                text = stretch.page.lines[i].text.strip()
                match = pattern.match(text) if stretch.first <= i < stretch.stop else None
                if match and len(text) <= 160:
                    key = next(group for group in match.groups() if group)
                    found.setdefault(key, Found(stretch.page, (i,), text, key))
    return list(found.values()), 0.7 if len(found) >= 2 else 0.4 if found else 0.0


def authors(pages: Sequence[Page]) -> tuple[list[Found], float]:
    """(the names between a paper's title and its abstract, probability that they are all its authors)."""
    found: dict[str, Found] = {}
    if not pages:
        return [], 0.0
    lines = pages[0].lines[:_HEAD_LINES]
    stop = next((i for i, line in enumerate(lines) if _ABSTRACT.match(line.text)), None)
    if stop is None:
        return [], 0.0
    title = next((block.lines for block in pages[0].blocks if block.kind == "heading"), (0,))
    for i, line in enumerate(lines[:stop]):
        if i in title or "@" in line.text or _PLACE.search(line.text):
            continue
        for name in re.split(r"[,;&、，；]|\band\b|\s{3,}", re.sub(r"[\d*†‡§¶∗⋆♠♣♦♢∥]+", ",", line.text)):
            name = name.strip(" .")
            if _PERSON.fullmatch(name) or re.fullmatch(r"[一-鿿]{2,3}", name):
                found.setdefault(name, Found(pages[0], (i,), name, name))
    return list(found.values()), 0.55 if found else 0.0


def occurrences(stretches: Sequence[Stretch], phrase: str) -> list[Found]:
    """Each place where the phrase stands as a whole word, in any case, over line breaks too."""
    pattern = _phrase_pattern(phrase)
    found: list[Found] = []
    for stretch in stretches:
        text, places = _running(stretch)
        for match in pattern.finditer(text):
            lines = tuple(dict.fromkeys(places[match.start() : match.end()]))
            shown = " ".join(stretch.page.lines[i].text.strip() for i in lines)
            found.append(Found(stretch.page, lines, shown, f"{stretch.page.ref.page}.{match.start()}"))
    return found


def _phrase_pattern(phrase: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in unicodedata.normalize("NFKC", phrase).replace("’", "'").split()]
    body = r"[\s-]+".join(words)
    first, last = phrase.strip()[:1], phrase.strip()[-1:]
    before = r"(?<!\w)" if first.isascii() and first.isalnum() else ""
    after = r"(?!\w)" if last.isascii() and last.isalnum() else ""
    return re.compile(before + body + after, re.IGNORECASE)


def _running(stretch: Stretch) -> tuple[str, list[int]]:
    """The text of a stretch in one line, and the line that each character stands on; words cut by a break are one."""
    text = ""
    places: list[int] = []
    for i in range(stretch.first, stretch.stop):
        part = unicodedata.normalize("NFKC", stretch.page.lines[i].text).replace("’", "'").strip()
        if not part:
            continue
        if text.endswith("-") and text[-2:-1].isalpha() and part[0].islower():
            text, places = text[:-1], places[:-1]
        elif text and not (is_cjk(text[-1]) and is_cjk(part[0])):
            text, places = text + " ", [*places, i]
        text += part
        places += [i] * len(part)
    return text, places


def _numbered_run(stretches: Sequence[Stretch]) -> list[Found]:
    found: list[Found] = []
    for stretch, i in _lines(stretches):
        text = stretch.page.lines[i].text.strip()
        match = _ENTRY.match(text)
        if match and int(match[1]) == len(found) + 1:
            found.append(Found(stretch.page, (i,), text, match[1]))
    return found


def _lines(stretches: Sequence[Stretch]) -> Iterator[tuple[Stretch, int]]:
    for stretch in stretches:
        for i in range(stretch.first, stretch.stop):
            yield stretch, i


def _hanging(stretch: Stretch) -> list[Found]:
    """The entries of an unnumbered list: lines at the left edge of their column whose following lines are indented."""
    lines = [(i, stretch.page.lines[i]) for i in range(stretch.first, stretch.stop)]
    lines = [(i, line) for i, line in lines if not is_references_heading(line.text)]
    found = []
    for column in (0, 1):
        mine = [(i, line) for i, line in lines if (line.bbox.x1 > 0.48) == bool(column)]
        if not mine:
            continue
        edge = min(line.bbox.x1 for _, line in mine)
        if sum(line.bbox.x1 > edge + 0.008 for _, line in mine) < 0.3 * len(mine):
            continue
        found += [
            Found(stretch.page, (i,), line.text.strip(), f"{stretch.page.ref.page}.{i}")
            for i, line in mine
            if line.bbox.x1 <= edge + 0.008 and _STARTS_ENTRY.match(line.text)
        ]
    return found
