"""The learned reader on paragraphs of our own: what it finds, and what it doesn't claim to find."""

import gzip

import numpy as np
import pytest

from agent.reader import shipped
from agent.reader.asked import analyse
from agent.reader.features import candidates
from agent.reader.ranker import Reader
from agent.reader.tokens import tokenise
from agent.reader.vectors import WordKnowledge
from retrieval.embedders.e5 import E5
from retrieval.errors import DocsageError

ENGLISH = (
    "The Linden Hill observatory was founded in 1871 by the astronomer Clara Voss. Its first telescope cost 4,200 "
    "crowns and was built in Vienna. In 1903 a storm destroyed the eastern dome, and the observatory moved to Alder."
)
CHINESE = (
    "林丘天文台由天文学家沈若兰于1871年创办。第一台望远镜在维也纳制造，花费四千二百克朗。"
    "1903年，一场风暴毁坏了东侧圆顶，天文台因此迁往阿尔德摩尔。"
)
TO_LAST_WORD = -27
"""The column of features that holds the signed distance to the question's last word."""


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


@pytest.mark.parametrize(
    ("question", "paragraph"),
    [
        ("What is 1?", "1 " * 10_000),
        ("What is the revenue of the company?", "revenue of the company " * 900),
        ("收入是多少？", "收入" * 5_000),
        ("为什么？", "，" * 5_000 + "收入，" * 3_000),
        ("What is aaa?", "a" * 20_000),
    ],
    ids=["numbers", "words", "Han", "clauses", "one word"],
)
def test_a_line_without_end_is_read(reader, question, paragraph):
    # A table of every place of a word by every span took 20 GB here.
    assert 0 <= reader.answerable(reader.read(question, paragraph)) <= 1


def test_a_span_knows_how_far_the_last_word_of_the_question_is():
    knowledge = WordKnowledge(shipped.stored_words("english"), E5())
    tokens = tokenise("Zinc is mined, and zinc sells. " + "Nothing else counts here. " * 3 + "Zinc rose.", "english")
    asked = analyse("Who sells zinc?", "english")
    found = candidates(tokens, asked, np.zeros(len(tokens.sentences), np.float32), knowledge)
    places = [i for i, key in enumerate(tokens.keys) if key == asked.last]
    assert len(places) == 3
    for first, last, row in zip(found.first, found.last, found.features, strict=True):
        own = [i for i in places if tokens.sentence[i] == tokens.sentence[first]]
        signed = [i - first if i < first else max(i - last, 0) for i in own]
        assert row[TO_LAST_WORD] == min(signed, key=abs, default=99)


class CountingE5(E5):
    """Counts the characters that it is given."""

    letters = 0

    def passages(self, texts):
        self.letters += sum(map(len, texts))
        return super().passages(texts)


def test_words_that_are_met_are_computed_once_and_long_ones_by_how_they_begin():
    embedder = CountingE5()
    knowledge = WordKnowledge(shipped.stored_words("english"), embedder)
    rows = knowledge.vectors(["the", "zzyzx", "q" * 5_000, "zzyzx"])
    assert 0 < embedder.letters < 200
    before = embedder.letters
    assert np.array_equal(knowledge.vectors(["the", "zzyzx", "q" * 5_000, "zzyzx"]), rows)
    assert embedder.letters == before


def _cut(content):
    return content[: len(content) // 2]


def _cut_and_packed(content):
    return gzip.compress(_cut(gzip.decompress(content)))


def _lost(content):
    raise FileNotFoundError(2, "No such file or directory")


@pytest.mark.parametrize("damage", [_cut, _cut_and_packed, _lost, lambda content: b"", lambda content: b"no model"])
def test_a_damaged_model_is_named(monkeypatch, damage):
    whole = shipped._content
    monkeypatch.setattr(shipped, "_content", lambda name: damage(whole(name)))
    with pytest.raises(DocsageError, match=r"english-spans\.txt\.gz is missing or damaged .*: install docsage again"):
        shipped.model.__wrapped__("english", "spans")


@pytest.mark.parametrize("damage", [_cut, _lost, lambda content: b"", lambda content: b"no table"])
def test_a_damaged_word_table_is_named(monkeypatch, damage):
    whole = shipped._content
    monkeypatch.setattr(shipped, "_content", lambda name: damage(whole(name)))
    with pytest.raises(DocsageError, match=r"chinese-words\.npz is missing or damaged .*: install docsage again"):
        shipped.stored_words.__wrapped__("chinese")
