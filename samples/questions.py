"""The questions about the samples. A region's name is the one under which its generator drew it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer and the name of the region that holds it; both are None when no answer exists."""

    document: str
    text: str
    answer: str | None
    region: str | None


REPORT, NOTICE, LEAF = "harbour-report.pdf", "scanned-notice.pdf", "classical-page.png"
QUESTIONS = (
    Question(REPORT, "Who has been chief pilot since March?", "Ingrid Aldous", "chief_pilot"),
    Question(REPORT, "How much was spent on dredging in 2025, in thousands of pounds?", "5,315", "row/Dredging"),
    Question(REPORT, "What is the depth at low water of the Container Berth?", "11.4", "row/Container Berth"),
    Question(
        REPORT, "How much shore power was delivered in the third quarter of 2025?", "2,038", "value/Third quarter"
    ),
    Question(REPORT, "How many cruise passengers came ashore in 2025?", None, None),
    Question(NOTICE, "少儿阅览室的改造经费共计多少？", "38.6万元", "budget"),
    Question(NOTICE, "少儿科普讲座的名额是多少？", "150人", "row/少儿科普讲座"),
    Question(NOTICE, "亲子诵读会在什么地点举行？", "城北分馆", "row/亲子诵读会"),
    Question(NOTICE, "总馆暑期每周哪一天闭馆？", "周一", "closing_day"),
    Question(LEAF, "誰是文昌書院的山長？", "沈端", "head"),
    Question(LEAF, "知縣陸衡撥寺田多少畝？", "三百二十畝", "land"),
    Question(LEAF, "縣丞馬良弼捐俸多少兩？", "四十兩", "gift"),
    Question(LEAF, "遠近從沈端學者有多少人？", "七十餘人", "pupils"),
    Question(LEAF, "文昌書院藏書多少卷？", None, None),
)
