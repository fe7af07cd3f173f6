"""Index terms: what must match what."""

import pytest

from retrieval.text.tokens import simplified, terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The companies are REPORTING debts", "company reported debt"),
        ("revenue of 7,491 million", "Revenue: 7491 million"),
        ("漢語大學", "汉语大学"),
        ("ＦＹ２０２１", "fy2021"),
    ],
)
def test_forms_of_the_same_words_share_their_terms(one, other):
    assert set(terms(one)) == set(terms(other))


def test_a_decimal_is_one_term_and_no_thousands_separator():
    assert terms("3.5 and 1,234.5 but 1,2") == ["3.5", "1234.5", "1,2"]


def test_stop_words_are_left_out_in_both_languages():
    assert terms("what is the of") == []
    assert "的" not in terms("学校的老师")


def test_han_text_matches_inside_a_longer_run():
    assert "书院" in terms("嵩陽書院在登封縣")


def test_other_scripts_are_kept():
    assert terms("Überweisung naïve Жизнь") != []


def test_simplified_leaves_other_text_alone():
    assert simplified("Tokyo 2021") == "Tokyo 2021"
