"""Reading sets from their files to their summary, and short answers as SQuAD and CMRC score them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from evaluation.metrics.reading import match_answer
from evaluation.reading.benchmark import ReadingRun, measure, run_config
from evaluation.reading.corpus import corpus
from evaluation.reading.reader import Answer
from evaluation.reading.samples import limited, load_reading_sets
from evaluation.reading.scoring import Mode, ReadingSummary
from evaluation.report import reading_report
from retrieval.errors import InputError


@pytest.mark.parametrize(
    ("prediction", "answers", "exact", "f1"),
    [
        ("the Eiffel Tower.", ["Eiffel tower"], 1, 1),
        ("in 1912", ["1912", "1913"], 0, 2 / 3),
        ("Paris", ["London"], 0, 0),
        ("", ["London"], 0, 0),
        ("", [], 1, 1),
        ("the", [], 1, 1),
        ("Paris", [], 0, 0),
        # an answer that is nothing but an article is no answer, beside one that is
        ("", ["the", "Paris"], 0, 0),
    ],
)
def test_english_answers_match_as_in_squad(prediction: str, answers: list[str], exact: float, f1: float) -> None:
    match = match_answer(prediction, answers, "squad")
    assert match.exact == exact
    assert match.f1 == pytest.approx(f1)


@pytest.mark.parametrize(
    ("prediction", "answers", "exact", "f1"),
    [
        ("《论语》颜渊", ["《论语·颜渊》"], 1, 1),
        ("在北京市", ["北京"], 0, 2 * 2 / 6),
        ("北京和上海", ["上海、北京"], 0, 2 * 2 / 9),
        ("", ["北京"], 0, 0),
        # numbers and Latin words are one segment each, so that half a number is no match
        ("1996年", ["1996"], 0, 2 / 3),
        ("199", ["1996"], 0, 0),
        ("3,000英尺", ["3,000英尺"], 1, 1),
        ("Windows 98系统", ["windows 98"], 0, 2 * 2 / 6),
        # the official list has no ASCII comma and no single "…"
        ("a,b", ["ab"], 0, 0),
        ("北京…", ["北京"], 0, 2 * 2 / 5),
    ],
)
def test_chinese_answers_match_as_in_cmrc(prediction: str, answers: list[str], exact: float, f1: float) -> None:
    match = match_answer(prediction, answers, "cmrc")
    assert match.exact == exact
    assert match.f1 == pytest.approx(f1)


class Parrot:
    """Answers with the first word; sure of itself on paragraphs that begin with Alder only."""

    name = "parrot/1"
    threshold = 0.5

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, question: str, paragraph: str) -> Answer:
        self.asked.append(question)
        if "crash" in question:
            raise ZeroDivisionError("bug")
        return Answer(text=paragraph.split()[0], confidence=0.9 if paragraph.startswith("Alder") else 0.1)


def _asked(identity: str, text: str, *answers: str) -> dict[str, object]:
    return {
        "id": identity,
        "question": text,
        "answers": [{"text": answer} for answer in answers],
        "is_impossible": not answers,
    }


PARAGRAPHS = [
    {
        "context": "Alder grows by the river. Its wood lasts under water.",
        "qas": [_asked("1", "What grows by the river?", "Alder"), _asked("2", "What lasts under water?", "wood")],
    },
    {
        "context": "Cedar grows on the mountain. Ships are built of it.",
        "qas": [_asked("3", "Who owns the mountain?"), _asked("4", "What grows on the mountain?", "Cedar")],
    },
]


def _write(path: Path, paragraphs: Sequence[object]) -> Path:
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}), encoding="utf-8")
    return path


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    return _write(tmp_path / "trees.json", PARAGRAPHS)


def _measure(
    data: Path, out: Path, reader: Parrot, *, mode: Mode = "given", limit: int | None = None, resume: bool = False
) -> ReadingSummary:
    sets = load_reading_sets(data)
    run = ReadingRun(out)
    with run.opened(run_config(sets, reader, mode=mode, limit=limit), resume=resume):
        return measure(run, limited(sets, limit), reader, mode=mode)


def test_a_set_is_read_and_summarised(trees: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    summary = _measure(trees, out, Parrot())
    one = summary.sets["trees"]
    assert (one.rules, one.questions, one.unanswerable, one.failed) == ("squad", 4, 1, 0)
    assert one.answers["exact"].value == pytest.approx(2 / 3)
    assert one.withholding is not None
    # given: 1 (right), 2 (wrong); withheld: 3 (rightly), 4 (wrongly)
    assert one.withholding["v2_f1"].value == pytest.approx((1 + 0 + 1 + 0) / 4)
    assert one.withholding["v2_f1_always"].value == pytest.approx(2 / 4)
    assert one.withholding["v2_exact"].value == pytest.approx((1 + 0 + 1 + 0) / 4)
    assert one.withholding["v2_never"].value == pytest.approx(1 / 4)
    assert one.withholding["answered"].value == 0.5
    assert (one.risk.operating.coverage, one.risk.operating.risk, one.risk.operating.threshold) == (0.5, 0.5, 0.5)
    assert one.latency["p50"].n == 4
    assert one.retrieval is None

    assert ReadingSummary.model_validate_json((out / "summary.json").read_bytes()) == summary
    plot = (out / "risk-coverage.svg").read_text(encoding="utf-8")
    assert "trees: 50 % answered at confidence ≥ 0.50 (dot), 50 % of them wrong, 50 % abstained" in plot
    assert "pygal-tooltips" not in plot  # a script that would be loaded from the network


def test_paragraphs_that_are_searched_for_are_ranked_and_read(trees: Path, tmp_path: Path) -> None:
    one = _measure(trees, tmp_path / "run", Parrot(), mode="open").sets["trees"]
    assert one.retrieval is not None
    assert [one.retrieval[name].value for name in ("recall@1", "recall@5", "mrr")] == [1.0, 1.0, 1.0]
    assert one.retrieval["mrr"].n == 3
    # where both paragraphs are found, the parrot is surest of the one with Alder
    answers = {answer.id: answer for answer in ReadingRun(tmp_path / "run").answers.read()}
    assert (answers["trees/1"].rank, answers["trees/1"].source, answers["trees/1"].exact) == (1, 0, 1)
    assert answers["trees/4"].rank == 1


def test_a_corpus_finds_paragraphs_by_their_words() -> None:
    with corpus([str(paragraph["context"]) for paragraph in PARAGRAPHS]) as searched:
        found = searched.search("Of what are ships built?", 5)
        assert [found[0].place, found[0].share] == [1, 1.0]
        assert searched.search("zebra", 5) == []


def test_a_run_goes_on_where_it_stopped_and_asks_again_what_failed(trees: Path, tmp_path: Path) -> None:
    broken = [{**PARAGRAPHS[0], "qas": [_asked("0", "Did it crash?", "Alder"), *PARAGRAPHS[0]["qas"]]}]  # type: ignore[misc]
    path, out = _write(tmp_path / "broken.json", broken), tmp_path / "run"
    first = Parrot()
    one = _measure(path, out, first, limit=2).sets["broken"]
    assert first.asked == ["Did it crash?", "What grows by the river?"]
    assert (one.failed, one.answers["exact"].value, one.answers["exact"].missing) == (1, 0.5, 1)

    second = Parrot()
    _measure(path, out, second, limit=3, resume=True)
    assert second.asked == ["Did it crash?", "What lasts under water?"]

    with pytest.raises(InputError, match=r"holds a run with settings\.mode \"given\", not \"open\""):
        _measure(path, out, Parrot(), mode="open", limit=3)


def test_the_language_of_a_set_chooses_its_rules(tmp_path: Path) -> None:
    _write(tmp_path / "a.json", PARAGRAPHS)
    _write(tmp_path / "b.json", [{"context": "赤杨生于河边。", "qas": [_asked("1", "河边生长的是什么树？", "赤杨")]}])
    assert [(one.name, one.rules) for one in load_reading_sets(tmp_path)] == [("a", "squad"), ("b", "cmrc")]


def test_a_set_without_unanswerable_questions_has_no_v2_score(tmp_path: Path) -> None:
    path = _write(tmp_path / "one.json", PARAGRAPHS[:1])
    assert _measure(path, tmp_path / "run", Parrot()).sets["one"].withholding is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", r"x\.json is not JSON"),
        ('{"data": [{"nothing": 1}]}', r"x\.json is not in SQuAD format \(KeyError: 'paragraphs'\)"),
        ("[]", r"x\.json is not in SQuAD format"),
        ('{"data": []}', r"x\.json holds no question"),
        ('{"data": [{"paragraphs": [{"context": "a", "qas": [7]}]}]}', r"x\.json is not in SQuAD format"),
    ],
)
def test_a_file_in_another_form_is_refused_with_its_name(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=problem):
        load_reading_sets(tmp_path)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"context": None}, "context is None"),
        ({"question": None}, "question is None"),
        ({"question": 7}, "question is 7"),
        ({"id": None}, "id is None"),
        ({"answers": [{"text": None}]}, "text is None"),
        ({"is_impossible": "false"}, "is_impossible is 'false'"),
    ],
)
def test_what_is_no_text_is_refused_and_not_read_as_words(tmp_path: Path, changed: dict, problem: str) -> None:
    asked = {"id": 1, "question": "Who?", "answers": [{"text": "Ann"}], **changed}
    paragraph = {"context": changed.get("context", "Ann sang."), "qas": [asked]}
    (tmp_path / "odd.json").write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    with pytest.raises(InputError, match=problem):
        load_reading_sets(tmp_path)


def test_a_file_may_begin_with_a_byte_order_mark_and_ids_may_be_numbers(tmp_path: Path) -> None:
    asked = {"id": 7, "question": "Who?", "answers": [{"text": "Ann"}]}
    content = json.dumps({"data": [{"paragraphs": [{"context": "Ann sang.", "qas": [asked]}]}]})
    (tmp_path / "set.json").write_text(content, encoding="utf-8-sig")
    assert load_reading_sets(tmp_path)[0].questions[0].id == "set/7"


def test_a_pipe_is_refused_since_it_may_never_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "set.json")
    with pytest.raises(InputError, match="no regular file"):
        load_reading_sets(tmp_path / "set.json")


def test_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    path = _write(tmp_path / "twice.json", [PARAGRAPHS[0], PARAGRAPHS[0]])
    with pytest.raises(InputError, match="several questions of one id"):
        load_reading_sets(path)


def test_the_report_shows_every_set(trees: Path, tmp_path: Path) -> None:
    written = io.StringIO()
    Console(file=written, width=120).print(reading_report(_measure(trees, tmp_path / "run", Parrot(), mode="open")))
    for words in ("4 questions, 0 failed", "trees", "v2_never", "recall@1", "calibration_error", "answered at"):
        assert words in written.getvalue(), words
