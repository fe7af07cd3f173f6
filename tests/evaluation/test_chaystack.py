"""CHaystack's phases from the data folder to the summary: files, scores by hand, interruptions, failures."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from small_haystack import Bench, ListRetriever, SetJudge, TableGenerator, make_haystack, values

from agent.models.types import ModelFailed
from evaluation.chaystack.benchmark import failed_questions
from evaluation.chaystack.report import chaystack_report
from retrieval.errors import InputError
from tools.judgments import JudgeFailed

SAMPLE = ["sample_id", "qid", "question", "gold_answer", "gold_image_id", "category", "answer_type"]
CANDIDATE = ["rank", "score", "image_id", "image_path", "metadata"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A run over the tiny haystack."""
    return Bench(make_haystack(tmp_path / "haystack"), tmp_path / "run")


def test_the_files_have_the_fields_that_the_reference_code_writes(bench: Bench) -> None:
    bench.measure(index="category")
    (retrieved, *_) = bench.rows("phase1_retrieval.jsonl")
    assert list(retrieved) == [*SAMPLE, "candidates"]
    assert list(retrieved["candidates"][0]) == [*CANDIDATE, "ranks"]
    assert retrieved["sample_id"] == retrieved["qid"] == "paper_p1"
    best = retrieved["candidates"][0]
    assert (best["rank"], best["score"], best["image_id"]) == (1, 1.0, "p3")
    assert best["image_path"] == str(bench.data / "data" / "image" / "paper" / "p3.png")
    assert best["metadata"] == {"category": "paper", "filename": "p3.png"}

    (filtered, *_) = bench.rows("phase2_filtered.jsonl")
    assert list(filtered) == [*SAMPLE, "candidates", "filter_stats", "fallback"]
    (kept,) = filtered["candidates"]
    assert list(kept) == [*CANDIDATE, "ranks", "filter_relevant", "filter_raw", "probability"]
    assert (kept["rank"], kept["image_id"], kept["filter_relevant"], kept["filter_raw"]) == (2, "p1", True, "YES")
    assert filtered["filter_stats"] == {"pre": 3, "post": 1}

    (answered, *_) = bench.rows("filter_rag.jsonl")
    assert list(answered) == [
        *("sample_id", "qid", "question", "category", "answer_type", "gold_image_id", "gold_answer"),
        *("filter_enabled", "filter_stats", "retrieved_image_ids", "retrieved_categories", "retrieval_results"),
        *("answer", "raw_answer", "is_uncertain", "shown"),
    ]
    assert (answered["filter_enabled"], answered["filter_stats"]) == (True, {"pre": 3, "post": 1})
    assert (answered["retrieved_image_ids"], answered["retrieved_categories"]) == (["p1"], ["paper"])
    assert answered["retrieval_results"] == filtered["candidates"]
    assert (answered["answer"], answered["raw_answer"], answered["is_uncertain"]) == ("312 棵.", "312 棵。", False)


def test_recall_answers_and_the_filters_effect_are_those_counted_by_hand(bench: Bench) -> None:
    summary = bench.measure()
    assert list(summary.settings) == ["category", "all"]
    assert (summary.questions, summary.unreachable) == (5, 1)
    one = summary.settings["category"]
    # Gold ranks before: p1 2, p2 3, c1 1, w1 1, lost never. After: p1 1, p2 1, c1 1 (all rejected), w1 1.
    assert values(one.overall.recall) == {"recall@1": 0.4, "recall@3": 0.8, "recall@5": 0.8, "recall@10": 0.8}
    assert values(one.overall.filtered_recall)["recall@1"] == 0.8
    assert values(one.by_category["paper"].recall) == {
        "recall@1": 0.0,
        "recall@3": 1.0,
        "recall@5": 1.0,
        "recall@10": 1.0,
    }
    assert one.by_category["webpage"].unreachable == 1
    effect = one.filter
    assert effect is not None
    assert (effect.moved_up, effect.gold_retrieved, effect.false_rejections, effect.fallbacks) == (2, 4, 1, 2)
    assert (effect.into_top["1"], effect.out_of_top["1"], effect.into_top["3"]) == (2, 0, 0)
    assert effect.kept.value == pytest.approx((1 / 3 + 1 / 3 + 1 + 1 + 1) / 5)
    # In all images: p1 2, p2 4, c1 1, w1 1.
    everywhere = summary.settings["all"]
    assert values(everywhere.overall.recall) == {"recall@1": 0.4, "recall@3": 0.6, "recall@5": 0.8, "recall@10": 0.8}
    assert everywhere.filter is not None
    assert everywhere.filter.into_top["3"] == 1
    # 312棵 right; 1996年 / 1990年: 4 of 5 characters; 30元 right; abstained, and 无法确定 for a person: nothing shared.
    assert values(one.overall.answers) == {"em": 0.4, "f1": round((1 + 0.8 + 1 + 0 + 0) / 5, 4)}
    assert (one.overall.uncertain.value, one.overall.uncertain.n) == (0.4, 5)
    assert failed_questions(summary) == 0
    assert json.loads((bench.out / "summary.json").read_text())["settings"]["all"]["meaning"] == (
        "each question in all images"
    )


def test_each_worker_is_closed_before_the_next_is_opened(bench: Bench) -> None:
    bench.measure(planned=True)
    assert bench.opened == ["planner", "retriever", "filter", "generator"]
    assert bench.searched == [("paper", "camera", "webpage", "advertise")]


def test_an_index_by_category_reads_the_categories_of_the_questions_alone(bench: Bench) -> None:
    bench.measure(index="category", phases=("retrieve",))
    assert bench.searched == [("paper", "camera", "webpage")]
    assert {category for _, category in bench.retriever.calls} == {"paper", "camera", "webpage"}


def test_the_generator_is_shown_what_was_kept_in_its_order_and_no_more_than_that(bench: Bench) -> None:
    bench.measure(index="all", keep=2)
    shown = dict(bench.generator.calls)
    assert shown["停车费是多少？"] == ["camera/c1", "camera/c2"]
    assert shown["林丘果园有多少棵苹果树？"] == ["paper/p1"]
    assert [row["shown"] for row in bench.rows("filter_rag.jsonl")] == [1, 1, 2, 1, 2]


def test_all_rejected_falls_back_to_the_retrieved_list_and_says_so(bench: Bench) -> None:
    bench.measure(index="category", phases=("retrieve", "filter"))
    row = next(row for row in bench.rows("phase2_filtered.jsonl") if row["sample_id"] == "camera_c1")
    assert row["fallback"]
    assert row["filter_stats"] == {"pre": 2, "post": 2}
    assert [(c["image_id"], c["filter_relevant"], c["filter_raw"]) for c in row["candidates"]] == [
        ("c1", False, "[fallback: all rejected]"),
        ("c2", False, "[fallback: all rejected]"),
    ]


def test_without_a_filter_everything_passes_and_nobody_is_asked(bench: Bench) -> None:
    summary = bench.measure(filters=False, index="category")
    (filtered, *_) = bench.rows("phase2_filtered.jsonl")
    assert [(c["filter_relevant"], c["filter_raw"]) for c in filtered["candidates"]] == [(None, "")] * 3
    assert filtered["filter_stats"] == {}
    (answered, *_) = bench.rows("filter_rag.jsonl")
    assert (answered["filter_enabled"], answered["retrieved_image_ids"]) == (False, ["p3", "p1", "p2"])
    assert bench.judge.calls == []
    one = summary.settings["category"]
    assert (one.filter, one.filter_reason) == (None, "the run has no filter")
    assert one.overall.filtered_recall["recall@1"].reason == "the run has no filter"


def test_the_gold_setting_shows_the_gold_image_alone_and_skips_the_other_phases(bench: Bench) -> None:
    summary = bench.measure(gold=True)
    assert bench.opened == ["generator"]
    shown = dict(bench.generator.calls)
    assert shown["果园建于哪一年？"] == ["paper/p2"]
    assert "谁写了《南明史》？" not in shown
    lost = bench.rows("filter_rag.jsonl")[-1]
    assert (lost["answer"], lost["is_uncertain"], lost["shown"]) == ("无法确定", True, 0)
    one = summary.settings["gold"]
    assert one.overall.recall["recall@1"].reason == "the gold image is given, nothing is searched"
    assert one.overall.answers["em"].value == 0.4
    assert not (bench.out / "phase1_retrieval.jsonl").exists()


def test_phases_one_by_one_write_what_all_at_once_writes(bench: Bench, tmp_path: Path) -> None:
    other = Bench(bench.data, tmp_path / "other")
    bench.measure()
    first = other.measure(phases=("retrieve",))
    assert first.settings["category"].overall.answers["em"].reason == "nothing has been answered (--phase generate)"
    assert first.settings["category"].filter_reason == "nothing has been filtered (--phase filter)"
    other.measure(phases=("filter",))
    assert other.opened == ["retriever", "filter"]
    last = other.measure(phases=("generate",))
    assert other.files() == bench.files()
    assert len(other.files()) == 6
    assert last.settings["all"].overall.answers == bench.measure().settings["all"].overall.answers


def test_a_complete_run_is_only_scored_again(bench: Bench) -> None:
    bench.measure()
    before = bench.files()
    bench.retriever, bench.judge, bench.generator = ListRetriever(), SetJudge(), TableGenerator()
    bench.opened.clear()
    summary = bench.measure()
    assert (bench.opened, bench.files()) == ([], before)
    assert summary.settings["category"].overall.answers["em"].value == 0.4


@pytest.mark.parametrize("stage", ["planning", "searching", "filtering", "answering"])
@pytest.mark.parametrize("place", [1, 3])
def test_interrupted_in_any_phase_and_resumed_the_files_are_the_same(
    bench: Bench, tmp_path: Path, stage: str, place: int
) -> None:
    whole = Bench(bench.data, tmp_path / "whole")
    whole.measure(planned=True)
    bench.fatal = (stage, place)
    with pytest.raises(KeyboardInterrupt):
        bench.measure(planned=True)
    assert bench.files() != whole.files()
    bench.fatal = None
    summary = bench.measure(planned=True)
    assert bench.files() == whole.files()
    assert failed_questions(summary) == 0
    # Nothing that was done is done again.
    assert len(bench.generator.calls) == len(whole.generator.calls)
    assert len(bench.retriever.calls) == len(whole.retriever.calls)


@pytest.mark.parametrize("worker", ["retriever", "generator"])
def test_interrupted_within_a_question_it_is_done_again(bench: Bench, tmp_path: Path, worker: str) -> None:
    whole = Bench(bench.data, tmp_path / "whole")
    whole.measure()
    getattr(bench, worker).fatal = 2
    with pytest.raises(KeyboardInterrupt):
        bench.measure()
    bench.retriever, bench.generator = ListRetriever(), TableGenerator()
    bench.measure()
    assert bench.files() == whole.files()


@pytest.mark.parametrize("together", [1, 4])
def test_files_are_in_the_order_of_the_questions_however_many_run_together(
    bench: Bench, tmp_path: Path, together: int
) -> None:
    other = Bench(bench.data, tmp_path / "other")
    other.together = together
    bench.measure()
    other.measure()
    assert other.files() == bench.files()
    assert [row["sample_id"] for row in bench.rows("filter_rag.jsonl")] == [
        *("paper_p1", "paper_p2", "camera_c1", "webpage_w1", "webpage_lost")
    ]


def test_a_torn_last_line_is_done_again(bench: Bench) -> None:
    bench.measure()
    before = bench.files()
    path = bench.out / "phase2_filtered.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    bench.measure()
    assert bench.files() == before


def test_pages_that_cant_be_judged_are_kept_reported_and_judged_again(bench: Bench, tmp_path: Path) -> None:
    bench.judge = SetJudge(broken=["paper/p3"])
    summary = bench.measure(index="category")
    row = bench.rows("phase2_filtered.jsonl")[0]
    assert [(c["image_id"], c["filter_relevant"], c.get("filter_error")) for c in row["candidates"]] == [
        ("p3", None, "no reply"),
        ("p1", True, None),
    ]
    assert summary.settings["category"].failed["filter"] == 2
    assert summary.failures_by_kind == {"JudgeFailed": 2}
    effect = summary.settings["category"].filter
    assert effect is not None
    assert (effect.errors, effect.failed) == (2, 2)
    assert any("2 of 5 questions have pages that were not judged" in note for note in bench.notes)
    failures = [json.loads(line) for line in (bench.out / "failures.jsonl").read_text().splitlines()]
    assert [failure["error"] for failure in failures] == ["filter: paper/p3: no reply"] * 2

    bench.judge, bench.generator = SetJudge(), TableGenerator()
    again = bench.measure(index="category")
    assert sorted(key for _, key in bench.judge.calls) == ["paper/p3", "paper/p3"]
    assert failed_questions(again) == 0
    # What was answered from other pages is answered anew.
    assert sorted(question for question, _ in bench.generator.calls) == ["林丘果园有多少棵苹果树？", "果园建于哪一年？"]
    whole = Bench(bench.data, tmp_path / "whole")
    whole.measure(index="category")
    assert bench.files() == whole.files()


def test_nobody_to_judge_leaves_the_order_of_retrieval_and_ends_the_run_with_a_problem(bench: Bench) -> None:
    bench.broken = JudgeFailed("http://127.0.0.1:9/v1 can't be reached")
    summary = bench.measure(index="category")
    before, after = bench.rows("phase1_retrieval.jsonl"), bench.rows("phase2_filtered.jsonl")
    assert [[c["image_id"] for c in row["candidates"]] for row in after] == [
        [c["image_id"] for c in row["candidates"]] for row in before
    ]
    assert bench.judge.calls == []
    assert (bench.problem, "generator" in bench.opened) == ("http://127.0.0.1:9/v1 can't be reached", False)
    assert failed_questions(summary) == 5
    assert summary.settings["category"].overall.filtered_recall == summary.settings["category"].overall.recall
    assert any("--phase generate was not begun" in note for note in bench.notes)

    bench.broken = None
    assert failed_questions(bench.measure(index="category")) == 0
    assert len(bench.generator.calls) == 5


def test_a_question_that_cant_be_answered_is_a_failure_counts_wrong_and_is_asked_again(bench: Bench) -> None:
    class Failing(TableGenerator):
        def generate(self, question: str, pages: Any) -> Any:
            if question.startswith("停车"):
                raise ModelFailed("no reply")
            return super().generate(question, pages)

    bench.generator = Failing()
    summary = bench.measure(index="category")
    group = summary.settings["category"].overall
    assert (group.answers["em"].value, group.answers["em"].n, group.answers["em"].missing) == (0.2, 5, 1)
    assert (group.uncertain.n, group.uncertain.missing) == (4, 1)
    assert summary.failures_by_kind == {"ModelFailed": 1}
    bench.generator = TableGenerator()
    assert bench.measure(index="category").settings["category"].overall.answers["em"].value == 0.4
    assert [question for question, _ in bench.generator.calls] == ["停车费是多少？"]


def test_results_of_other_settings_are_refused_and_later_phases_may_have_others(bench: Bench) -> None:
    bench.measure(phases=("retrieve",), settings={"retrieve": {"embedder": "a"}})
    with pytest.raises(InputError, match=r"--phase retrieve with embedder .a., not .b."):
        bench.measure(settings={"retrieve": {"embedder": "b"}})
    bench.measure(phases=("filter",), settings={"retrieve": {"embedder": "b"}, "filter": {"model": "m"}})
    with pytest.raises(InputError, match="--phase filter with filter true, not false"):
        bench.measure(phases=("filter",), filters=False, settings={"filter": {"model": "m"}})
    with pytest.raises(InputError, match="candidates 15, not 3"):
        bench.measure(candidates=3, settings={"retrieve": {"embedder": "a"}})


def test_a_phase_without_the_one_before_says_which_to_run(bench: Bench) -> None:
    for phase, needed in (("filter", "retrieve"), ("generate", "retrieve")):
        with pytest.raises(InputError, match=rf"no results of --phase .*{needed if phase == 'filter' else 'filter'}"):
            bench.measure(phases=(phase,))
    bench.measure(phases=("retrieve",), index="category")
    with pytest.raises(InputError, match="over the index all"):
        bench.measure(phases=("filter",), index="both")
    with pytest.raises(InputError, match="holds no results of --phase filter"):
        bench.measure(phases=("generate",))
    summary = bench.measure(phases=("filter",))
    assert list(summary.settings) == ["category"]


def test_the_second_index_may_follow_and_a_run_over_all_images_stays_one(bench: Bench, tmp_path: Path) -> None:
    bench.measure(index="category")
    first = bench.files()
    summary = bench.measure(index="both")
    assert list(summary.settings) == ["category", "all"]
    assert {name: text for name, text in bench.files().items() if "/" not in name} == first
    other = Bench(bench.data, tmp_path / "other")
    other.measure(index="all")
    assert other.rows("phase1_retrieval.jsonl") == bench.rows("all/phase1_retrieval.jsonl")
    with pytest.raises(InputError, match="choose another --out"):
        other.measure(index="both")


def test_a_higher_limit_goes_on_with_resume(bench: Bench, tmp_path: Path) -> None:
    summary = bench.measure(limit=1)
    assert summary.questions == 3
    with pytest.raises(InputError, match="--resume"):
        bench.measure()
    bench.measure(resume=True)
    whole = Bench(bench.data, tmp_path / "whole")
    whole.measure()
    assert bench.files() == whole.files()


def test_the_question_itself_is_always_searched_besides_its_plan(bench: Bench) -> None:
    bench.measure(planned=True, index="category", phases=("retrieve",))
    row = bench.rows("phase1_retrieval.jsonl")[0]
    assert 2 <= len(row["plan"]["queries"]) <= 4
    assert row["plan"]["origin"] == "rules"
    searched = [question for question, _ in bench.retriever.calls]
    assert searched[: len(row["plan"]["queries"]) + 1] == [row["question"], *row["plan"]["queries"]]
    assert row["candidates"][0]["ranks"] == {"question": 1}
    assert row["candidates"][0]["score"] == pytest.approx(1 / 61, abs=1e-6)


def test_without_images_nothing_is_retrieved_and_the_line_says_why(bench: Bench) -> None:
    for path in (bench.data / "data" / "image").rglob("*.png"):
        path.unlink()
    with pytest.raises(InputError, match="there are no images to search"):
        bench.measure()


def test_the_report_sets_our_rows_beside_the_papers(bench: Bench) -> None:
    text = io.StringIO()
    Console(file=text, width=200).print(chaystack_report(bench.measure()))
    report = text.getvalue()
    assert "which a user would not know" in report
    assert "40.0 → 80.0" in report
    for row in ("Qwen3-VL  ", "ours, category", "ours, all, filtered", "Qwen2.5-VL-3B", "InternVL2.5-4B"):
        assert row in report
    assert "falsely rejected 1 of 4 retrieved" in report
