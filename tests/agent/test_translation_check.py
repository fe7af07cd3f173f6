"""Translations by rules: what can't be one, and that rules alone never vouch for one."""

from __future__ import annotations

import pytest

from agent.draft import Draft
from agent.question import analyse
from agent.translation_check import translation_claims
from agent.types import Claim, Fact
from retrieval.types import BBox, PageRef
from tools.types import Quote, Region

REF = PageRef(doc_id="d0c0000000000001", page=1)
BOX = BBox(x1=0.1, y1=0.1, x2=0.9, y2=0.9)
ORIGINAL = "昔者莊周夢為胡蝶栩栩然胡蝶也自喻適志與不知周也俄然覺則蘧蘧然周也"
LONG = "".join(chr(0x4E00 + 7 * n) for n in range(300))
MODERN = (
    "从前庄周梦见自己变成蝴蝶，一只翩翩飞舞的蝴蝶，自己感到愉快惬意，不知道自己是庄周。忽然醒来，才惊觉自己原来是庄周。"
)


def claim_of(answer: str, original: str = ORIGINAL) -> Claim:
    quote = Quote(page=REF, lines=(0,), text=original, kind="page")
    draft = Draft(answer=answer, candidate=answer, quotes=(quote,), way="model", origin="model")
    fact = Fact(id="f1", text=original, region=Region(page_ref=REF, block=BOX), evidence_ids=("e1",))
    (claim,) = translation_claims(analyse("请把这一页翻译成现代汉语。"), draft, [fact])
    return claim


@pytest.mark.parametrize(
    "answer",
    [
        MODERN,
        "Once Zhuang Zhou dreamt that he was a butterfly, fluttering about as it pleased, and he didn't know of Zhou.",
        "“抱歉，我来晚了。”庄周对蝴蝶说，他梦见自己变成了一只翩翩飞舞的蝴蝶，醒来才知道自己是庄周。",
    ],
)
def test_rules_alone_make_a_translation_tentative(answer: str) -> None:
    claim = claim_of(answer)
    assert (claim.verdict, claim.confidence) == ("supported", 0.3)


@pytest.mark.parametrize(
    "answer",
    [
        "抱歉，我无法翻译这段文字，因为图片不清楚，请提供更清晰的图片。",
        "很抱歉，由于图片分辨率过低，我看不清其中的文字，请您重新上传一张图片。",
        "对不起，这段文字我没有办法翻译，请提供更多的上下文，谢谢您的理解。",
        "作为一个人工智能语言模型，我不能翻译这一段文字，请咨询专业人士。",
        "我无法直接翻译图片中的内容，请把文字发给我，我再为您翻译。",
        "I'm sorry, but I can't translate this passage without a clearer picture.",
        "Sorry, I am unable to help with that request about this passage.",
        "I cannot translate classical Chinese texts of this kind, please ask somebody.",
        "As an AI language model, I have no access to the picture that you mention.",
        "Unfortunately, I don't have enough context to give you a translation here.",
    ],
)
def test_a_refusal_is_no_translation(answer: str) -> None:
    claim = claim_of(answer)
    assert (claim.verdict, claim.reason) == ("unsupported", "it says that it can't be translated")


@pytest.mark.parametrize(
    "answer",
    [
        "好" * 100,
        "蝴蝶" * 40,
        "the butterfly " * 12,
        "今天天气很好，我们一起去公园散步。" * 5,
        MODERN + "他很快乐。" * 400,
    ],
    ids=["character", "word", "words", "sentence", "end"],
)
def test_one_thing_over_and_over_is_no_translation(answer: str) -> None:
    assert claim_of(answer, LONG if len(answer) > 1000 else ORIGINAL).verdict == "unsupported"


def test_a_refrain_of_the_original_may_be_one_of_the_translation() -> None:
    assert claim_of("采呀采呀采车前子，" * 6, "采采芣苢" * 6).verdict == "supported"
