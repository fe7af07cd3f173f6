"""The words by which the rules tell what a question wants, English and Chinese, as regular expressions."""

from __future__ import annotations

import re

from agent.types import AnswerType, Task
from tools.arithmetic import Operation


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_QUANTITIES = "|".join(
    (
        r"average|total|amount|value|revenues?|income|liabilit\w+|assets|expenses?|debt|margin|profit|sales|ebitda",
        r"earnings|eps|turnover|capex|roa|roe|salary|salaries|fees?|price|costs?|rent|compensation|payments?|dividends?",
        r"depth|height|length|width|weight|size|speed|temperature|population|area|distance|duration|capacity|volume",
    )
)
ANSWER_TYPES: tuple[tuple[AnswerType, re.Pattern[str]], ...] = (
    (
        "yes_no",
        _any_of(
            r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b(?!.*\bor\b)",
            r",\s*(?:is|are|was|were|do|does|did|has|have)\s+(?:the|it|they|there|this)\b(?!.*\bor\b.*\?)",
            r"\byes or no\b",
            r"\btrue or false\b",
            r"[吗嗎][？?]?$",
            r"是否",
            r"是不是",
            r"有没有",
            r"有沒有",
            r"对不对",
        ),
    ),
    (
        "percent",
        _any_of(
            r"\bper\s?cent(?:age)?s?\b",
            r"\bwhat (?:share|proportion|fraction)\b",
            r"\bgrowth rate\b",
            r"百分之",
            r"百分比",
            r"占比",
            r"比例",
            r"比率",
            r"增长率",
            r"增速",
        ),
    ),
    (
        "count",
        _any_of(
            r"\bhow many\b",
            r"\bnumber of\b",
            r"有几",
            r"几[个個条種种次位名座所家卷首篇]",
            r"多少[个個条種种次位名座所家卷首篇人]",
        ),
    ),
    (
        "money",
        _any_of(
            r"\bhow much (?:money|did .+ (?:cost|pay|spend|earn)|does .+ cost|is the (?:price|cost|fee))",
            r"\bwhat (?:is|was) the (?:price|cost|fee|salary)\b",
            # Amounts of accounts, but not what is said about them (their growth, margins, ratios, or reasons).
            r"^(?!.*\b(?:ratios?|margins?|turnover|rates?|returns?|growth|why|which|who|how many|drove|trend|type)\b)"
            r".*\b(?:what|how much)\b.*\b(?:revenues?|(?:net )?sales|(?:net |operating )?income|earnings|profits?|"
            r"ebitda|expenditures?|expenses?|spending|debts?|assets|liabilities|equity|cash flows?|dividends?)\b",
            r"多少钱",
            r"多少[万亿]?元",
            r"金额",
            r"价格",
            r"费用",
        ),
    ),
    (
        "date",
        _any_of(
            r"^when\b",
            r"\bwhen (?:did|was|were|is|does)\b",
            r"\b(?:what|which) (?:year|date|month|day)\b",
            r"\bin what year\b",
            r"\bwhat is the date\b",
            r"何时",
            r"什么时候",
            r"哪一?[年天月日]",
            r"星期几",
            r"周几",
            r"什么时间",
            r"何年",
        ),
    ),
    (
        "list",
        _any_of(
            r"\blist format\b",
            r"\blist (?:all|the)\b",
            r"^list\b",
            r"\bwhat are the\b",
            r"\b(?:which|what) (?:two|three|four|five|six|seven|eight|nine|ten)\b",
            r"\bname (?:all|the (?:two|three|four|five))\b",
            r"哪些",
            r"哪几",
            r"列出",
            r"列举",
        ),
    ),
    (
        "name",
        _any_of(
            r"^who\b",
            r"\bwho (?:is|was|are|were|did|has)\b",
            r"\bwhose\b",
            r"\bwhich\b",
            r"^where\b",
            r"\bwhat is the (?:name|title)\b",
            r"\bwhat (?:company|country|city|organi[sz]ation|person|university|state|colou?r)\b",
            r"是谁",
            r"^谁",
            r"谁[是的在]",
            r"何人",
            r"什么人",
            r"哪[位个里家]",
            r"何处",
            r"什么地[方点]",
            r"地点",
            r"名字",
            r"名称",
        ),
    ),
    (
        "number",
        _any_of(
            r"\bwhat (?:is|was|are|were) the (?:[\w-]+ ){0,2}(?:accuracy|score|f1|performance)\b",
            r"\bwhat (?:score|accuracy|rate)\b",
            r"\bhow (?:much|long|far|old|large|big|high|tall|fast|often)\b",
            r"\b(?:int|integer|float) format\b",
            r"\bdecimal",
            r"\bin (?:thousands|millions|billions)\b",
            r"\bratio\b",
            rf"\bwhat(?:'s| is| was| were) (?!.*\b(?:used|called|named)\b).*\b(?:{_QUANTITIES})\b",
            rf"^(?:calculate|compute|find|give|state) .*\b(?:{_QUANTITIES})\b",
            r"多少",
            r"多大",
            r"多高",
            r"多长",
            r"多远",
            r"总额",
            r"总数",
        ),
    ),
)
"""The first one that matches holds."""
_MOVES = (
    "increased?|decreased?|changed?|gr[eo]wn?|declined?|r[io]sen?|fall|fell|fallen|drop(?:ped)?|climb(?:ed)?|shr[aiu]nk"
)
OPERATIONS: tuple[tuple[Operation, re.Pattern[str]], ...] = (
    (
        "growth",
        _any_of(
            r"\bgrowth rate\b",
            rf"\bpercent(?:age)? (?:did|does|was|has|have)\b.*\b(?:{_MOVES})\b",
            r"\b(?:percentage?|percent|%) (?:change|increase|decrease|growth|decline)\b",
            r"\bgrew by what percent",
            r"\b(?:roi|return) (?:of|on) an? investment\b",
            r"\bpercentage difference\b",
            r"\bchange\b.*\bas a percentage\b",
            r"增长率",
            r"增长了?百分",
            r"增幅",
            r"同比",
        ),
    ),
    (
        "difference",
        _any_of(
            r"\bdifference\b",
            r"\bgap (?:of|in|for|between)\b",
            r"\bhow (?:much|many) (?:(?:percentage )?points? )?"
            r"(?:more|less|higher|lower|fewer|greater|larger|longer|shorter|smaller|older|younger|bigger)\b",
            r"\b(?:net )?change (?:in|between)\b",
            r"\bby how (?:much|many)\b",
            rf"\bhow much (?:did|has|have)\b.*\b(?:{_MOVES})\b",
            r"相差",
            r"差[额距值]",
            r"比.{1,20}[多高大长少低小短](?:了|出)?(?:多少|几)",
            r"[多少]了?多少",
            r"增加了多少",
            r"减少了多少",
        ),
    ),
    (
        "ratio",
        _any_of(
            r"\bratios?\b",
            # "Total debt to total assets" is a quotient, however many rows are called one or the other.
            r"\b(?:debt|liabilit\w+|assets|equity|cash flows?|income|profit)\s*to "
            r"(?:total |current |net |shareholders. )?(?:assets|liabilit\w+|equity|ebitda|capital|sales|revenues?)\b",
            r"\bhow many times (?:as|more|larger|higher|greater)\b",
            r"比值",
            r"几倍",
            r"多少倍",
        ),
    ),
    (
        "average",
        _any_of(
            r"\b(?:average|mean) of\b",
            r"\bwhat(?: is| was| are| were|'s) the (?:average|mean)\b",
            r"\baverage number of\b",
            r"平均",
        ),
    ),
    (
        "sum",
        _any_of(
            r"\bsum of\b",
            r"\bin total\b",
            r"\bcombined\b",
            r"\btotal of\b",
            r"\baltogether\b",
            r"\badds? up to\b",
            r"\bsummed\b",
            r"\btotal (?:[\w-]+ ){1,4}of all\b",
            r"总和",
            r"合计",
            r"总共",
            r"一共",
            r"之和",
        ),
    ),
)
"""The first one that matches holds."""
TASKS: tuple[tuple[Task, re.Pattern[str]], ...] = (
    (
        "ocr",
        _any_of(
            r"\b(?:transcribe|transcription|ocr|read out)\b",
            r"\b(?:what (?:does|do) the (?:text|characters?) (?:say|read))\b",
            r"识别",
            r"转录",
            r"转写",
            r"抄录",
            r"释文",
            r"写了什么字",
        ),
    ),
    (
        "translation",
        _any_of(
            r"\btranslat(?:e|ion)\b",
            r"翻译",
            r"译成",
            r"译为",
            r"译文",
            r"白话",
        ),
    ),
    (
        "linguistic_qa",
        _any_of(
            r"\b(?:rhetorical|grammar|part of speech|etymology|pronounc\w+)\b",
            r"\b(?:meaning of the (?:word|character|phrase))\b",
            r"字义",
            r"词义",
            r"读音",
            r"通假",
            r"句式",
            r"修辞",
            r"词性",
            r"(?:字|词)的意思",
            r"古音",
            r"反切",
        ),
    ),
    (
        "knowledge_qa",
        _any_of(
            r"\b(?:background of|historical context|outside the document|in general)\b",
            r"\b(?:who was the author|what dynasty)\b",
            r"作者是谁",
            r"哪个朝代",
            r"历史背景",
            r"典故",
            r"常识",
        ),
    ),
)
"""The first one that matches holds; none is a question about the document."""
FRAME = _any_of(
    r"^\s*(?:according to|based on|as shown in|as stated in|in|from) (?:the|this|these)"
    r" (?:report|document|paper|slides?|article|guide|survey|brochure|text|page|table|chart|figure)s?,?\s+"
)
"""How a question says that it is about the document, which is no content."""
PERSON = _any_of(r"^who\b", r"\bwho (?:is|was|are|were|did|has|wrote|made|led)\b", r"\bwhose\b", r"谁|何人")
WEEKDAY = _any_of(r"每周|每週|每星期|星期几|周几", r"\b(?:day of the week|weekday)\b")
NEGATED = _any_of(r"\b(?:not|never|no longer|isn't|aren't|doesn't|don't|didn't|without|except)\b", r"没有|不是|未|非")
_NO_NOUN = (
    "are|is|was|were|do|does|did|have|has|had|can|could|will|would|in|of|on|at|for|from|to|with|that|which|who|there"
)
COUNTED = _any_of(rf"\b(?:how many|number of) ((?:(?!(?:{_NO_NOUN})\b)[\w'’-]+\s*){{1,4}})")
"""What an English question counts, in its group."""
MEASURES: tuple[tuple[str, str, str], ...] = (
    (r"\bdeepest\b|最深", r"\bshallowest\b|最浅", "depth deep 深度 水深"),
    (r"\blongest\b|最长", r"\bshortest\b|最短", "length long duration 长度 时长"),
    (r"\bwidest\b|最宽", r"\bnarrowest\b|最窄", "width wide 宽度"),
    (r"\btallest\b|最高", r"\blowest\b|最矮", "height 高度 身高"),
    (r"\bheaviest\b|最重", r"\blightest\b|最轻", "weight mass 重量"),
    (r"\bfastest\b|最快", r"\bslowest\b|最慢", "speed 速度"),
    (r"\bmost expensive\b|最贵", r"\bcheapest\b|最便宜", "price cost fee 价格 单价"),
    (r"\bhottest\b|最热", r"\bcoldest\b|最冷", "temperature 温度 气温"),
)
"""Superlatives that name a measure: of the most of it, of the least of it, and how a table's column is headed."""
LARGEST = _any_of(r"\b(?:largest|highest|biggest|greatest|maximum|most)\b", r"最[大高多]")
SMALLEST = _any_of(r"\b(?:smallest|lowest|fewest|minimum|least)\b", r"最[小低少]")
WRITTEN_FORMS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        _any_of(r"\be-?mails?\b", r"邮箱|電郵|电子邮件"),
        _any_of(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
    ),
    (_any_of(r"\bfax\b", r"传真"), _any_of(r"(?<=fax)[:.\s]*(?:no\.?)?[:\s]*(\+?\(?\d[\d\s().-]{6,}\d)")),
    (
        _any_of(r"\b(?:tele)?phone (?:number|no)\b", r"\btel\b", r"电话号码|联系电话"),
        _any_of(r"(?:tel|phone|call|电话)\D{0,12}(\+?\(?\d[\d\s().-]{6,}\d)"),
    ),
    (
        _any_of(r"\b(?:url|web ?site|web (?:address|page))\b", r"网址|网站"),
        _any_of(r"(?:https?://|www\.)[^\s,;()]+[^\s,;().]"),
    ),
)
"""What a question names, and how it is written: e-mail addresses, fax and telephone numbers, web addresses."""
