"""Questions about what a document has: from their words to the arguments of the inventory tool, English and Chinese."""

from __future__ import annotations

import re
from typing import Any, get_args

from agent.question import Question, question_body
from retrieval.text.references import references
from retrieval.types import Frozen
from tools.characters import normalize
from tools.inventory import Thing
from tools.parts import APPENDIX, BODY

_NOUNS: tuple[tuple[str, Thing], ...] = (
    (r"figures?|illustrations?|diagrams?", "figure"),
    (r"tables?", "table"),
    (r"charts?|graphs?", "chart"),
    (r"photos?|photographs?|pictures?|images?", "photo"),
    (r"exhibits?", "exhibit"),
    (r"algorithms?", "algorithm"),
    (r"equations?", "equation"),
    (r"references?|citations?|bibliographic entries|works? cited", "reference"),
    (r"sections?|subsections?", "section"),
    (r"chapters?", "chapter"),
    (r"appendi(?:ces|xes|x)", "appendix"),
    (r"authors?|co-?authors?", "author"),
    (r"questions?", "question"),
    (r"pages?|slides?", "page"),
)
_HAN_NOUNS: tuple[tuple[str, Thing], ...] = (
    (r"参考文献|文献|引文", "reference"),
    (r"图表", "chart"),
    (r"照片|图片|相片|插图", "photo"),
    (r"表格?|附表", "table"),
    (r"附?图", "figure"),
    (r"章节?", "chapter"),
    (r"小?节", "section"),
    (r"附录", "appendix"),
    (r"作者", "author"),
    (r"公式|方程式?", "equation"),
    (r"算法", "algorithm"),
    (r"问题|题目?", "question"),
    (r"页", "page"),
)
_HOW_MANY = (
    r"(?:how many|(?:what is |what's |give |state )?the (?:total |overall )?number of|number of|count (?:of )?the)"
    r" (?:(?:distinct|different|numbered|total|unique|separate|cited|listed|in-text) )*"
)
_TIMES = re.compile(
    r"\bhow (?:many times|often) (?:does|do|did|is|are|was|were|has|have) (?P<x>.+?) (?:been )?"
    r"(?:appear|occur|mentioned|used|repeated|cited|referenced|named|show up|come up|written)\b"
    r"|\bhow many (?:mentions|occurrences|instances) (?:of|are there of|are there for) "
    r"(?P<y>.+?)(?= (?:in|on|are|appear|occur)\b|\?|$)",
    re.IGNORECASE,
)
_LIST_PAGES = re.compile(r"\b(?:list (?:all |the |all the )?|which |what )(?:pages|slides)\b", re.IGNORECASE)
_PAGES_WITH = re.compile(
    r"\b(?P<asks>how many|number of|which|what) (?:of the )?(?:pages?|slides?) (?:of the \w+ |in the \w+ )?"
    r"(?:(?:that|which) )?(?P<verb>mentions?|contains?|includes?|refers? to|has|have|talks? about|discuss(?:es)?|"
    r"speaks? of|names?|shows?|features?) (?P<x>.+?)(?=\?|$)"
    r"|\b(?P<asks2>on how many|on which|on what) (?:pages?|slides?) (?:does|do|did|is|are|was|were) (?P<y>.+?) "
    r"(?:appear|occur|mentioned|named|discussed|shown|used|come up|found)\b",
    re.IGNORECASE,
)
_NAMED_WORD = re.compile(
    r"^(?:(?:the|a|an) )?(?:(?:exact )?"
    r"(?:word|term|name|phrase|expression|acronym|abbreviation|company|brand|keyword)s? )?(?:of )?",
    re.IGNORECASE,
)
_DOCUMENT = (
    r"(?:(?:the|this|these|that|its|their|whole|entire|full|given|provided|present) )*"
    r"(?:papers?|documents?|reports?|slides?(?: deck)?|decks?|presentations?|books?|manuals?|guide(?:book)?s?|"
    r"brochures?|pdfs?|files?|articles?|thesis|texts?|handbooks?|prospectus|leaflets?|study|survey|questionnaire|"
    r"magazine|newsletter|filing)"
)
_PAGE_SCOPE = re.compile(
    r"\b(?:on|in|from|between|of|within|across)?\s*(?:the )?(?:pages?|slides?|pp?\.)\s*(?:no\.?|number)?\s*\d{1,4}"
    r"(?:\s*(?:-|–|to|and|,|&|through)\s*(?:pages?|slides?)?\s*\d{1,4})*\b"
    r"|\b(?:on|in) the (?:first|second|third|fourth|fifth|last|final|cover|title)"
    r"(?: (?:\d+|two|three|four|five))?(?: (?:pages?|slides?))?\b",
    re.IGNORECASE,
)
_PARTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:in|of|within) (?:the |its )?(?:main body|main text|main paper|body)(?: of)?\b", re.I), BODY),
    (
        re.compile(r"\b(?:in|of|within) (?:the |its )?(?:appendix|appendices)(?! [A-Z\d]\b)(?: section)?", re.I),
        APPENDIX,
    ),
    (re.compile(r"\b(?:in|of|within|under) (?:the )?(?i:appendix|annex) (?P<name>[A-Z])\b"), ""),
    (
        re.compile(r"\b(?:in|of|within|does|under) (?:the )?(?:section|chapter|part) (?P<name>\d+(?:\.\d+)*)\b", re.I),
        "",
    ),
    (
        re.compile(
            r"\b(?:in|of|within|under) (?:the )?(?:section|chapter|part)s? "
            r"(?:on|of|about|called|titled|named|entitled|for|headed) (?:the )?"
            r"[\"“'‘]?(?P<name>[^\"”'’?,]{3,60}?)[\"”'’]?(?=\s*(?:\?|,|$| in | of the ))",
            re.I,
        ),
        "",
    ),
    (
        re.compile(
            r"\b(?:in|of|within|under) the [\"“'‘]?(?P<name>[\w &-]{3,50}?)[\"”'’]? (?:section|chapter|part)\b", re.I
        ),
        "",
    ),
)
_FILLER = re.compile(
    r"\b(?:are|is|was|were|there|does|do|did|has|have|had|contains?|contained|includes?|included|provided|presented?|"
    r"shown|shows?|appears?|appeared|used|can|be|been|found|find|given|gives?|displayed|exists?|in|on|at|of|from|total|"
    r"all|altogether|overall|listed|lists?|cited|cites?|numbered|mentioned|it|its|the|this|this|that|these|you|see|we|"
    r"covers?|long|comprises?|consists?|made|up|with|and|throughout|within|by|number|count|integer|list|write|wrote|"
    r"written|published|divided|into|have|asked|labell?ed|captioned|please|answer)\b|[^\w]+",
    re.IGNORECASE,
)
_HAN_DOCUMENT = (
    r"(?:本|全|该|此|这|整)?(?:[个份篇本部]|一[份篇本])?"
    r"(?:论文|报告|文档|文件|文章|手册|说明书|书|文|资料|幻灯片|演示文稿|年报|白皮书|指南)"
)
_HAN_ASK = r"(?:多少|几)(?:[个個张張幅条條篇名位章节節页頁次处種种道项項份])?"
_HAN_PARTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"正文(?:部分)?"), BODY),
    (re.compile(r"附录(?![A-Z])(?:部分)?(?=[中里内共有的])"), APPENDIX),
    (re.compile(r"附录(?P<name>[A-Z])"), ""),
    (re.compile(r"第(?P<name>\d+(?:\.\d+)*|[一二三四五六七八九十]+)[章节部]分?"), ""),
    (re.compile(r"[“「《\"](?P<name>[^”」》\"]{2,30})[”」》\"]?(?:这?一?[章节]|部分|章节)"), ""),
)
_HAN_FILLER = re.compile(
    r"一共|总共|共计|共有|共|总计|有|包含|包括|含有|含|出现|列出|列|引用|提到|使用|的|了|是|里面|里|中|内|上|在|和|请问|总|分为|分成|分|由|组成"
    r"|数量|数目|总数|[^\w]+|篇|呢|吗"
)
_HAN_OFTEN = re.compile(r"(?:多少|几)次")
_HAN_TIMES = re.compile(
    r"[“「《\"](?P<x>[^”」》\"]{1,40})[”」》\"].*(?:多少|几)次|(?<![\w-])(?P<y>[A-Za-z][\w-]*+).*?(?:出现|提及|提到)"
)
_HAN_PAGES_WITH = re.compile(
    r"(?P<asks>多少|几|哪几|哪些)个?页(?:面)?(?:中|上)?(?:提到|提及|出现|包含|含有|有|涉及)了?[“「《\"]?(?P<x>[^”」》\"？?]{1,30}?)[”」》\"]?(?:一词|字样)?[？?]?$"
)
_HAN_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九十")}
_LONGEST_PHRASE = 6


class Asked(Frozen):
    """What a question asks the inventory for. `labels` says that the pages themselves are wanted, not how many."""

    arguments: dict[str, Any]
    labels: bool = False


def asked_of_inventory(question: Question) -> Asked | None:
    """The arguments of the inventory tool for a question about a document's structure; None for any other question.

    A question with a condition that structure can't tell ("charts that compare two groups") is another question.
    """
    body = question_body(question.text)
    return _chinese(question, normalize(body).text) if question.language == "zh" else _english(question, body)


def _english(question: Question, body: str) -> Asked | None:
    pages = references(body).pages
    scope: dict[str, Any] = {"pages": pages} if pages else {}
    rest = _PAGE_SCOPE.sub(" ", body) if pages else body
    if (times := _TIMES.search(rest)) is not None:
        phrase = _phrase(question, times["x"] or times["y"] or "")
        part, tail = _part(rest[times.end() :])
        given: dict[str, Any] = {"by": "page"} if _LIST_PAGES.search(tail) else {}
        return _asked(scope, part, labels=bool(given), thing="phrase", phrase=phrase, **given) if phrase else None
    if (with_it := _PAGES_WITH.search(rest)) is not None:
        return _pages_with(question, with_it, scope)
    for pattern, thing in _NOUNS:
        found = re.search(rf"\b{_HOW_MANY}(?:{pattern})\b(?! of (?!(?:the|this)\b)\w)", rest, re.IGNORECASE)
        if found is None:
            continue
        part, tail = _part(rest[: found.start()] + " " + rest[found.end() :])
        if _FILLER.sub("", re.sub(_DOCUMENT, " ", tail, flags=re.IGNORECASE)):
            return None
        return _asked(scope, part, thing=thing)
    return None


def _pages_with(question: Question, found: re.Match[str], scope: dict[str, Any]) -> Asked | None:
    text = (found["x"] or found["y"] or "").strip(" .")
    labels = (found["asks"] or found["asks2"]).lower().split()[-1] in ("which", "what")
    part, text = _part(text)
    text = re.sub(rf"\s*\bin {_DOCUMENT}\s*$", "", text, flags=re.IGNORECASE).strip()
    plain = re.sub(r"^(?:a|an|any|the|at least one|one or more) ", "", text, flags=re.IGNORECASE)
    for pattern, thing in _NOUNS:
        if re.fullmatch(pattern, plain, re.IGNORECASE) and thing != "page":
            return _asked(scope, part, labels=labels, thing=thing, by="page")
    verb = (found["verb"] or "mention").lower()
    told = bool(question.phrases) or verb.startswith(("mention", "refer", "name")) or plain[:1].isupper()
    phrase = _phrase(question, text)
    return _asked(scope, part, labels=labels, thing="phrase", phrase=phrase, by="page") if told and phrase else None


def _phrase(question: Question, text: str) -> str:
    """What is to be looked for: the quoted words, else the few words themselves; "" for a description."""
    quoted = [phrase for phrase in question.phrases if phrase in text]
    if len(quoted) == 1:
        return quoted[0].strip(" .,")
    phrase = _NAMED_WORD.sub("", text.strip()).strip("\"'“”‘’ .,")
    described = re.search(r"\b(?:which|that|who|whose|when|where|and|or)\b", phrase)
    return "" if described or not 0 < len(phrase.split()) <= _LONGEST_PHRASE else phrase


def _part(text: str) -> tuple[str, str]:
    """(the part of the document that a text names, the text without it)."""
    for pattern, name in _PARTS:
        found = pattern.search(text)
        if found is None:
            continue
        given = name or found["name"].strip()
        if not re.fullmatch(_DOCUMENT, given, re.IGNORECASE):
            return given, text[: found.start()] + " " + text[found.end() :]
    return "", text


def _chinese(question: Question, body: str) -> Asked | None:
    pages = references(body).pages
    scope: dict[str, Any] = {"pages": pages} if pages else {}
    rest = (
        re.sub(r"第\s*\d+\s*(?:[-–到至]\s*(?:第\s*)?\d+\s*)?[页頁]|封面|首页|末页|最后一页", " ", body)
        if pages
        else body
    )
    if _HAN_OFTEN.search(rest) and (times := _HAN_TIMES.search(rest)) is not None:
        return _asked(scope, "", thing="phrase", phrase=_original(question, times["x"] or times["y"]))
    if (with_it := _HAN_PAGES_WITH.search(rest)) is not None:
        labels = with_it["asks"] in ("哪几", "哪些")
        thing = next((thing for pattern, thing in _HAN_NOUNS if re.fullmatch(pattern, with_it["x"])), None)
        if thing is not None and thing != "page":
            return _asked(scope, "", labels=labels, thing=thing, by="page")
        return _asked(scope, "", labels=labels, thing="phrase", phrase=_original(question, with_it["x"]), by="page")
    part = ""
    for pattern, name in _HAN_PARTS:
        if (found := pattern.search(rest)) is not None:
            part = name or _number(found["name"])
            rest = rest[: found.start()] + " " + rest[found.end() :]
            break
    for noun, thing in _HAN_NOUNS:
        asks = re.search(rf"{_HAN_ASK}的?(?:{noun})(?!\w*[间示])|(?:{noun})[共总一有的数量]*{_HAN_ASK}", rest)
        if asks is not None:
            tail = re.sub(_HAN_DOCUMENT, " ", rest[: asks.start()] + " " + rest[asks.end() :])
            return None if _HAN_FILLER.sub("", tail) else _asked(scope, part, thing=thing)
    return None


def _original(question: Question, phrase: str) -> str:
    """A phrase as the question writes it: `normalize` folds it for matching only."""
    return next((p for p in question.phrases if normalize(p).text == phrase), phrase)


def _number(name: str) -> str:
    if name[0] not in _HAN_DIGITS:
        return name
    tens, ten, units = name.rpartition("十")
    return str((_HAN_DIGITS.get(tens, 1) * 10 if ten else 0) + (_HAN_DIGITS.get(units, 0)))


def _asked(scope: dict[str, Any], part: str, *, labels: bool = False, **arguments: Any) -> Asked:
    if arguments["thing"] not in get_args(Thing):
        raise ValueError(f"there is no thing {arguments['thing']!r} to count; valid are {', '.join(get_args(Thing))}")
    return Asked(arguments={**scope, **({"part": part} if part else {}), **arguments}, labels=labels)
