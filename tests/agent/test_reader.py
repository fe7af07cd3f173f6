"""The learned reader on paragraphs of our own: what it finds, and what it doesn't claim to find."""

import pytest

from agent.reader.ranker import Reader
from retrieval.embedders.e5 import E5

ENGLISH = (
    "The Linden Hill observatory was founded in 1871 by the astronomer Clara Voss. Its first telescope cost 4,200 "
    "crowns and was built in Vienna. In 1903 a storm destroyed the eastern dome, and the observatory moved to Alder."
)
CHINESE = (
    "林丘天文台由天文学家沈若兰于1871年创办。第一台望远镜在维也纳制造，花费四千二百克朗。"
    "1903年，一场风暴毁坏了东侧圆顶，天文台因此迁往阿尔德摩尔。"
)


@pytest.fixture(scope="module")
def reader():
    return Reader(E5())


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the observatory founded?", "1871"),
        ("How much did the first telescope cost?", "4,200"),
        ("What destroyed the eastern dome?", "storm"),
    ],
)
def test_the_answer_is_found_in_english(reader, question, answer):
    best = reader.read(question, ENGLISH).spans[0]
    assert answer in best.text
    assert len(best.text) <= len(answer) + 25
    assert ENGLISH[best.start : best.stop] == best.text


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Who founded the observatory?", "Clara Voss"), ("Where was the first telescope built?", "Vienna")],
)
def test_an_answer_that_is_not_first_is_second(reader, question, answer):
    assert answer in [span.text for span in reader.read(question, ENGLISH).spans[:2]]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("林丘天文台是谁创办的？", "沈若兰"),
        ("林丘天文台是哪一年创办的？", "1871年"),
        ("第一台望远镜在哪里制造？", "维也纳"),
    ],
)
def test_the_answer_is_found_in_chinese(reader, question, answer):
    best = reader.read(question, CHINESE).spans[0]
    assert answer in best.text
    assert len(best.text) <= len(answer) + 6
    assert CHINESE[best.start : best.stop] == best.text


def test_a_paragraph_about_something_else_is_unlikely_to_answer(reader):
    asked = "Who founded the observatory at Linden Hill?"
    other = "Potatoes are planted in spring, when the soil has warmed. They are harvested from July on."
    assert reader.answerable(reader.read(asked, other)) < reader.answerable(reader.read(asked, ENGLISH))


def test_reading_is_deterministic(reader):
    again = Reader(E5()).read("Who founded it?", ENGLISH)
    assert reader.read("Who founded it?", ENGLISH).spans == again.spans


@pytest.mark.parametrize("paragraph", ["", "   ", "...", "？！"])
def test_a_paragraph_without_words_has_no_answer(reader, paragraph):
    assert reader.read("Who?", paragraph).spans == ()


@pytest.mark.parametrize("question", ["", "???", "的", "a" * 5000])
def test_odd_questions_are_read_without_error(reader, question):
    assert 0 <= reader.answerable(reader.read(question, ENGLISH)) <= 1
