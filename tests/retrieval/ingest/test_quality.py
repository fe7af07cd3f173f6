"""Text layers that can't be trusted are told from those that can."""

import io

import pytest
from desk import scan

from retrieval.ingest.quality import judge, plausibility

ENGLISH = "The orchard at Linden Hill holds 312 apple trees, planted in 1996 by Edith Marlow and her sister."
CHINESE = "林丘果园共有苹果树三百一十二棵，果园建于1996年，由马立德主持种植。2024年收获苹果18.4吨。"


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        CHINESE,
        "果園 Orchard Ltd. 截至二零二四年十二月三十一日止年度 Annual Report 2024",
        "あのイーハトーヴォのすきとおった風、夏でも底に冷たさをもつ青いそら",
        "Наши яблоки растут на холме, урожай 2024 года составил 18,4 тонны.",
        "Der Obstgarten wächst über die Jahre; la récolte s'élève à 18,4 tonnes – naïve façade.",
        "1,234.5 | 2,345.6 | 3,456.7 | (12.3)% | 45.6%",
        "Chapter 1 ........................................ 12",
        "∑ αᵢxᵢ ≤ β where α, β ∈ ℝ and x ≥ 0 for all i",
        "\uf0b7 first item\n\uf0b7 second item with enough words",
    ],
)
def test_real_text_is_good(text):
    assert judge(text).verdict == "good"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufffd\ufffd\ufffd \ufffd\ufffd\ufffd",
        "\ue012\ue045\ue0a1 \ue033\ue0f2 abc \ue012\ue045",
        "(cid:12)(cid:45)(cid:7) (cid:33)(cid:91)",
        "\x19\x12\x05",
        "Ã¤Â¸\xadÃ¥\x9b½Ã¤ÂºÂºÃ¦Â°Â\x91" * 4,
        "૽⤧⠙\u2fffㅢ⠧䚻ᄯᓤტຖ”ංઑᅄເᚒⲰ䚡૽ເ㦯ᴋ✭።㇉⨫位㡇ᤖ༬⧉⥶㓳位ᡆ",
    ],
)
def test_garbage_is_garbage(text):
    found = judge(text)
    assert found.verdict == "garbage"
    assert found.reason


def test_a_character_that_repeats_without_end_is_suspicious():
    assert judge("佛佛佛佛佛佛佛佛佛 440696 发票号码").verdict == "suspicious"


def test_poor_ocr_reads_less_plausibly_than_text():
    poor = "U ARMY NICAL ,SCH00L 1]ADRON [Sp F|IGH N0 B@sic Tr~i ing nt3r N- r.ey/1 /94:3? ti. b.-* w1th: ;a th@t" * 2
    assert plausibility(poor) < 0.5 < plausibility(ENGLISH * 2)
    assert plausibility(CHINESE) is None


def _garbled(page):
    page.insert_image(page.rect, stream=_text_image())
    for n in range(6):
        page.insert_text((60, 80 + 14 * n), "Ã©Ã¨Ãª" * 6, render_mode=3)


def _text_image():
    file = io.BytesIO()
    scan(["What the eye can read"], width=595, height=842).save(file, "PNG")
    return file.getvalue()


@pytest.mark.slow
def test_a_garbage_layer_is_replaced_by_ocr_and_the_note_says_why(desk, draw):
    page = desk.page(draw("garbled.pdf", _garbled))
    assert page.text == "What the eye can read"
    assert {line.source for line in page.lines} == {"ocr"}
    assert page.note.endswith("read by OCR")
