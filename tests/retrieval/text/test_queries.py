"""What of a question is searched for."""

import pytest

from retrieval.text.queries import implied_anchors, subject, weighted_terms


@pytest.mark.parametrize(
    ("question", "core"),
    [
        ("What is the debt of Alder Ltd? Round your answer to two decimal places.", "What is the debt of Alder Ltd?"),
        ('Who won? Please write the answer in list format, e.g., ["a","b"]', "Who won?"),
        ("校长是谁？请直接回答", "校长是谁？"),
    ],
)
def test_answer_instructions_are_dropped(question, core):
    assert subject(question).split() == core.split()


def test_a_question_that_is_all_instruction_is_kept():
    assert subject("Write the date.") == "Write the date."


def test_questions_about_writing_and_answering_are_kept():
    question = "Did the author write the answer to the riddle on the wall?"
    assert subject(question) == question


def test_a_ratio_brings_the_items_it_is_computed_from_at_a_lower_weight():
    weights = weighted_terms("What is the current ratio of Alder?", glossary_weight=0.5)
    assert weights["ratio"] == 1
    assert weights["liabil"] == 0.5
    assert "liabil" not in weighted_terms("What is the current ratio of Alder?", glossary_weight=0)


def test_the_glossary_leaves_other_questions_alone():
    question = "Who founded the academy?"
    assert weighted_terms(question, glossary_weight=1) == weighted_terms(question, glossary_weight=0)


def test_a_ratio_implies_its_statement():
    assert implied_anchors("What is the quick ratio?") == ("=statement:balance",)
    assert implied_anchors("Who founded the academy?") == ()
