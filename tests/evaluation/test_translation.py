"""chrF++ as sacrebleu computes it, BERTScore where there is a model, and error rates that a hand can check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.metrics.transcription import Transcript, folded, transcription_scores
from evaluation.metrics.translation import BertScore, bertscore_missing, chrf_corpus, chrf_sentence, chrf_signature
from retrieval.errors import InputError

SAID, GOLD = "秋堂成，延沈端為山長。", "秋堂建成，延請鄉人沈端擔任山長。"
"""sacrebleu 2.6.0's command line gives 17.8452 for them."""


def test_chrf_is_that_of_sacrebleu() -> None:
    assert 100 * chrf_sentence(SAID, GOLD) == pytest.approx(17.8452, abs=5e-5)
    assert chrf_sentence(GOLD, GOLD) == pytest.approx(1)
    assert chrf_sentence("", GOLD) == 0
    assert chrf_signature().startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:")


def test_the_corpus_score_pools_the_texts_and_the_mean_doesnt() -> None:
    # Two texts, one right, one empty: "沈端" has 2 + 1 character n-grams and one word, "山長" the same.
    # precision 1, recall 1/2 in each order there is: (1 + 4) * 1 * .5 / (4 * 1 + .5) = 2.5 / 4.5
    assert chrf_corpus(["沈端", ""], ["沈端", "山長"]) == pytest.approx(2.5 / 4.5)
    assert (chrf_sentence("沈端", "沈端") + chrf_sentence("", "山長")) / 2 == pytest.approx(0.5)


def test_a_chinese_text_without_spaces_is_one_word() -> None:
    # chrF's six character orders, and a word order that never matches: 6/7 of chrF.
    from sacrebleu.metrics.chrf import CHRF

    plain = CHRF().sentence_score(SAID, [GOLD]).score / 100
    assert chrf_sentence(SAID, GOLD) == pytest.approx(plain * 6 / 7)


def test_error_rates_by_hand() -> None:
    pages = [
        Transcript(read="天地玄黃\n宇宙洪荒", reference="天地玄黃宇宙洪荒"),  # 0 of 8: lines are layout
        Transcript(read="日月盈具", reference="日月盈昃"),  # 1 of 4
        Transcript(read="", reference="辰宿"),  # 2 of 2
    ]
    scores = transcription_scores(pages, missing=1)
    assert scores["cer"].value == pytest.approx(3 / 14)
    assert scores["cer_page"].value == pytest.approx((0 + 1 / 4 + 1) / 3)
    assert scores["cer_folded"].value == pytest.approx(3 / 14)
    assert {score.missing for score in scores.values()} == {1}


def test_folding_takes_punctuation_and_variants_for_no_error() -> None:
    assert folded("秋堂成，延 沈端為山長。") == folded("秋堂成延沈端为山长")
    (page,) = [Transcript(read="延沈端为山长", reference="延沈端為山長。")]
    scores = transcription_scores([page])
    assert scores["cer"].value == pytest.approx(3 / 7)
    assert scores["cer_folded"].value == 0


def test_more_than_was_there_is_an_error_rate_above_one() -> None:
    assert transcription_scores([Transcript(read="一二三四五", reference="一二")])["cer"].value == pytest.approx(1.5)


def test_no_pages_have_no_error_rate() -> None:
    scores = transcription_scores([])
    assert {score.value for score in scores.values()} == {None}
    assert scores["cer"].reason == "no transcribed pages"


def test_without_a_model_the_reason_is_given() -> None:
    assert "--bertscore-model" in bertscore_missing(None)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no model: config\.json can't be used \(No such file"):
        BertScore(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(InputError, match="doesn't say how many layers"):
        BertScore(tmp_path)


def test_a_layer_that_the_model_doesnt_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"num_hidden_layers": 4}))
    with pytest.raises(InputError, match="has no layer 5: --bertscore-layers is 1 to 4"):
        BertScore(tmp_path, layers=5)


@pytest.mark.slow
def test_bertscore_of_a_model_on_disk(tmp_path: Path) -> None:
    pytest.importorskip("bert_score", reason="it needs the extra bertscore")
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path / "tiny"
    folder.mkdir()
    letters = sorted(set(SAID + GOLD))
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]))
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=5 + len(letters), **shape)).save_pretrained(folder)

    score = BertScore(folder)
    assert score.name == "tiny, layer 2 of 3"
    same, empty, near, long = score.f1([GOLD, "", SAID, GOLD * 60], [GOLD, GOLD, GOLD, GOLD])
    assert same == pytest.approx(1, abs=1e-5)
    assert empty == 0
    assert 0 < near < 1
    assert 0 < long <= 1
