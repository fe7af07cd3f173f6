"""Old texts: their characters are normalised with the way back to the original, and their terms are found."""

from __future__ import annotations

import pytest

from tools.base import ToolContext
from tools.characters import normalize
from tools.registry import Registry
from tools.terms import extract_terms

LINE = "子曰學而時習之不亦說乎有朋自遠方來不亦樂乎"


@pytest.fixture
def context() -> ToolContext:
    from retrieval.types import Scope

    return ToolContext(pages=None, scope=Scope(doc_ids=("d",)), question="")  # type: ignore[arg-type]


async def test_the_normalizer_simplifies_a_column_and_notes_what_needs_no_change(context):
    registry = Registry()
    changed = await registry.run("char_normalizer", context, {"text": LINE})
    assert changed.value == "子曰学而时习之不亦说乎有朋自远方来不亦乐乎"
    same = await registry.run("char_normalizer", context, {"text": "子曰"})
    assert (same.value, same.notes) == ("子曰", ("nothing to change",))


@pytest.mark.parametrize(("simplified", "original"), [("学而时习", "學而時習"), ("说乎", "說乎"), ("远方来", "遠方來")])
def test_every_normalised_word_leads_back_to_the_original(simplified, original):
    found = normalize(LINE)
    at = found.text.index(simplified)
    assert found.quote(at, at + len(simplified)) == original
    assert found.original == LINE


def test_wide_digits_and_columns_over_several_lines_keep_their_places():
    text = "卷１２\n學而第一"
    found = normalize(text)
    assert found.text == "卷12\n学而第一"
    assert found.quote(found.text.index("学而"), found.text.index("第一")) == "學而"


def test_terms_of_an_old_text_are_its_quoted_names_and_what_stands_between_particles():
    terms = extract_terms("《論語》云：「學而時習之，不亦說乎」，朱熹註之以為學者之先務")
    assert terms[:2] == ("論語", "學而時習之，不亦說乎")
    assert "先務" in terms
    assert not {"之", "而", "以"} & set(terms)


def test_terms_merge_both_scripts_and_keep_the_first_form():
    assert extract_terms("“遠方”與“远方”").count("遠方") == 1
    assert "远方" not in extract_terms("“遠方”與“远方”")


async def test_the_extractor_gives_at_most_what_is_asked_for(context):
    found = await Registry().run("term_extractor", context, {"text": "《論語》《孟子》《大學》《中庸》", "limit": 2})
    assert found.terms == ("論語", "孟子")
