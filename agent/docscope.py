"""DocScope's formats: the raw response of a model, and the record of one question."""

from __future__ import annotations

import re
from typing import Any

from agent.settings import Granularity
from agent.trajectory import reported_box
from agent.types import Fact, Trajectory
from retrieval.errors import InputError

UNANSWERABLE = "Unanswerable"
_INNER_STOP = re.compile(r"([.!?])[\"”’)]?\s+(?=\S)")
_HAN_STOP = re.compile(r"[。！？](?=.)")
_TAGS = re.compile(r"</?answer>|\[page=", re.IGNORECASE)


def model_raw(trajectory: Trajectory, *, granularity: Granularity = "block") -> str:
    """The response in DocScope's form: a sentence with one citation a fact, then the answer in its tags.

    Boxes are in [0, 1], three decimals. InputError for a scope of several documents, where a page number says nothing.
    """
    _single(trajectory)
    lines = []
    if not trajectory.abstained:
        doc_pages = {page.ref: page.doc_page for page in trajectory.pages}
        for fact in trajectory.facts:
            label = doc_pages.get(fact.region.page_ref, "none").replace('"', "'")
            box = ", ".join(f"{value:.3f}" for value in reported_box(fact.region, granularity).as_list())
            citation = f'[page={fact.region.page_ref.page}, doc_page="{label}", bbox=[{box}]]'
            sentence = one_sentence(fact.text)
            stop = "。" if fact.text.endswith("。") else "."
            lines.append(f"{sentence} {citation}{stop}")
    answer = UNANSWERABLE if trajectory.answer is None else _TAGS.sub("", trajectory.answer)
    return "\n".join([*lines, f"<answer> {answer} </answer>"])


def infer_record(
    question_id: str, trajectory: Trajectory, *, model: str = "docsage", granularity: Granularity = "block"
) -> dict[str, Any]:
    """One line of `infer.jsonl`."""
    raw = model_raw(trajectory, granularity=granularity)
    answered = not trajectory.abstained
    facts = trajectory.facts if answered else ()
    return {
        "question_id": question_id,
        "model": model,
        "model_raw": raw,
        "thinking": "",
        "parsed": {
            "answer": trajectory.answer if answered else UNANSWERABLE,
            "citations": [_citation(trajectory, fact, granularity) for fact in facts],
            "predicted_pages": sorted({fact.region.page_ref.page for fact in facts}),
            "has_answer_tag": True,
        },
        "infer_usage": trajectory.usage.model_dump(),
        "status": "ok",
    }


def one_sentence(text: str) -> str:
    """A fact as a single sentence without its stop: inner stops become semicolons, line breaks blanks."""
    flat = _TAGS.sub("", " ".join(text.split())).rstrip(" .。!?！？")
    return _HAN_STOP.sub("；", _INNER_STOP.sub("; ", flat))


def _citation(trajectory: Trajectory, fact: Fact, granularity: Granularity) -> dict[str, Any]:
    doc_page = next((page.doc_page for page in trajectory.pages if page.ref == fact.region.page_ref), "none")
    return {
        "page": fact.region.page_ref.page,
        "doc_page": doc_page,
        "bbox": [round(value, 3) for value in reported_box(fact.region, granularity).as_list()],
        "sentence": one_sentence(fact.text) + ".",
        "is_normalized": True,
    }


def _single(trajectory: Trajectory) -> None:
    if len(trajectory.scope.doc_ids) != 1:
        raise InputError(
            f"DocScope's form needs one document, this question was asked over {len(trajectory.scope.doc_ids)}",
            remedy="ask over one document",
        )
