"""The third phase: the answer of each question from the candidates that were kept."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from agent.loop import run as run_async
from agent.models.calls import PICTURE_TOKENS, text_tokens
from agent.models.client import ModelClient
from agent.models.settings import EvidenceForm
from agent.models.types import Capabilities, ModelFailed, Picture, Prompt
from agent.prompts import fenced, render
from agent.question import analyse
from agent.roles.pictures import encoded
from agent.types import Trajectory
from evaluation.chaystack.folder import ChaystackRun
from evaluation.chaystack.images import Haystack
from evaluation.chaystack.pages import HaystackPage, PageTexts, image_of
from evaluation.chaystack.records import (
    AnsweredSample,
    FilteredCandidate,
    FilteredSample,
    Setting,
    Timing,
    base_fields,
    candidate_of,
    latest,
)
from evaluation.chaystack.samples import ChaystackSample
from evaluation.metrics.chaystack import UNCERTAIN, clean_answer, is_uncertain
from evaluation.run import do_each
from retrieval.errors import DocsageError
from retrieval.progress import Progress
from retrieval.types import Scope

_PROMPT_TOKENS = 300
_LEAST_TEXT = 100
"""Tokens of a page's text below which a part of it isn't worth showing."""


class Generated(NamedTuple):
    """What was replied, None for an abstention; how many pages were shown; the trace, where there is one."""

    reply: str | None
    shown: int
    trace_id: str | None = None


class AnswerGenerator(Protocol):
    """Answers a question from some pages."""

    @property
    def reads_text(self) -> bool:
        """Whether pages have to be read before they are handed in."""

    def generate(self, question: str, pages: Sequence[HaystackPage]) -> Generated:
        """The answer from at least one page, the best first; ModelFailed when there is no reply."""


class Asker(Protocol):
    """An agent."""

    def ask(self, question: str, scope: Scope) -> Trajectory:
        """The trajectory of one question."""


class DirectGenerator:
    """One call over the kept pages: their images, their text, or both, as many as the model's context holds."""

    def __init__(self, client: ModelClient, *, tokens: int) -> None:
        self._client = client
        self._tokens = tokens
        self._capabilities: Capabilities | None = None

    def ready(self) -> None:
        """Ask the model what it can do; ModelFailed when it can't be reached."""
        self._capabilities = run_async(self._client.capabilities())

    @property
    def form(self) -> EvidenceForm:
        """What the model is shown; text if it has no eyes."""
        vision = self._capabilities is not None and self._capabilities.vision
        return self._client.settings.evidence if vision else "text"

    @property
    def reads_text(self) -> bool:
        """As the protocol says."""
        return self.form != "image"

    def generate(self, question: str, pages: Sequence[HaystackPage]) -> Generated:
        """As the protocol says. A model that reasons first is given its own limit of tokens if these are too few."""
        texts, pictures = self._shown(question, pages)
        language = analyse(question).language
        system, user, version = render("direct", "short", language, pages=fenced("\n".join(texts)), question=question)
        prompt = Prompt(
            role="direct", system=system, user=user, version=version, pictures=tuple(pictures), brief=self._tokens
        )
        try:
            reply = run_async(self._client.reply(prompt))
        except ModelFailed as error:
            if not error.cut:
                raise
            reply = run_async(self._client.reply(replace(prompt, brief=None)))
        return Generated(reply.text.strip(), len(texts))

    def _shown(self, question: str, pages: Sequence[HaystackPage]) -> tuple[list[str], list[Picture]]:
        """The text and the picture of each page that can be read until the context is full.

        ModelFailed if not even one has room; what a page raises if none can be read.
        """
        capabilities = self._capabilities or Capabilities()
        room = capabilities.context - self._tokens - _PROMPT_TOKENS - text_tokens(question)
        texts: list[str] = []
        pictures: list[Picture] = []
        unreadable: Exception | None = None
        for number, page in enumerate(pages, 1):
            marker = f"=== {number} ==="
            left = room - (0 if self.form == "text" else PICTURE_TOKENS)
            try:
                text = marker if self.form == "image" else f"{marker}\n{page.text()}"
                if left < min(text_tokens(text), _LEAST_TEXT):
                    break
                if self.form != "text":
                    pictures.append(encoded(page.image()))
            except (DocsageError, OSError) as error:
                unreadable = error  # the others may hold the answer
                continue
            taken = text_tokens(text)
            texts.append(text if taken <= left else text[: len(text) * left // taken])
            room = left - min(taken, left)
        if texts:
            return texts, pictures
        if unreadable is not None:
            raise unreadable
        raise ModelFailed(
            f"the model's context of {capabilities.context} tokens has no room for a page",
            remedy="use a model with a longer one",
        )


class AgentGenerator:
    """docsage's agent over the kept pages as its documents."""

    reads_text = True

    def __init__(self, agent: Asker) -> None:
        self._agent = agent

    def generate(self, question: str, pages: Sequence[HaystackPage]) -> Generated:
        """As the protocol says; pages that couldn't be read are left out."""
        documents = [page.texts.document(page.source) for page in pages]
        scope = Scope(doc_ids=tuple(dict.fromkeys(document for document in documents if document)))
        if not scope.doc_ids:
            return Generated(None, 0)
        trajectory = self._agent.ask(question, scope)
        answer = None if trajectory.abstained else trajectory.answer
        return Generated(answer, len(scope.doc_ids), trajectory.trace_id)


def gold_samples(samples: Sequence[ChaystackSample], haystack: Haystack) -> dict[str, FilteredSample]:
    """Samples whose only candidate is their gold image, where there is one."""
    found = {}
    for sample in samples:
        image = haystack.images.get(sample.gold_key)
        golden = () if image is None else (candidate_of(image, 1, 1.0, {}),)
        chosen = tuple(FilteredCandidate(**dict(candidate)) for candidate in golden)
        found[sample.sample_id] = FilteredSample(**base_fields(sample), candidates=chosen)
    return found


def unanswered(
    run: ChaystackRun,
    setting: Setting,
    samples: Sequence[ChaystackSample],
    filtered: Mapping[str, FilteredSample],
    keep: int,
) -> list[tuple[ChaystackSample, FilteredSample]]:
    """The samples with candidates that have no answer yet, or one from other candidates than those of now."""
    done = latest(run.files(setting).answered.read())
    found = []
    for sample in samples:
        before, answered = filtered.get(sample.sample_id), done.get(sample.sample_id)
        if before is not None and (answered is None or answered.retrieval_results != before.candidates[:keep]):
            found.append((sample, before))
    return found


def generate_samples(
    run: ChaystackRun,
    setting: Setting,
    todo: Sequence[tuple[ChaystackSample, FilteredSample]],
    generator: AnswerGenerator,
    *,
    haystack: Haystack,
    texts: PageTexts,
    keep: int,
    filter_enabled: bool,
    progress: Progress,
    together: int = 1,
) -> None:
    """Write the answer of each question to `filter_rag.jsonl`. Without a page nothing is asked: "无法确定"."""
    files = run.files(setting)
    before = {sample.sample_id: filtered for sample, filtered in todo}
    if generator.reads_text:
        images = {c.key: image_of(c, haystack) for _, filtered in todo for c in filtered.candidates[:keep]}
        texts.read(list(images.values()), progress)

    def generate(sample: ChaystackSample) -> None:
        begin = time.perf_counter()
        filtered = before[sample.sample_id]
        pages = [HaystackPage(image_of(c, haystack), texts) for c in filtered.candidates[:keep]]
        made = generator.generate(sample.question, pages) if pages else Generated(None, 0)
        files.answered.append(_answered(filtered, made, keep=keep, filter_enabled=filter_enabled))
        run.timings.append(
            Timing(
                sample_id=sample.sample_id,
                setting=setting,
                phase="generate",
                seconds=time.perf_counter() - begin,
                trace_id=made.trace_id,
            )
        )

    do_each(
        [sample for sample, _ in todo],
        "answering",
        generate,
        failures=run.failures,
        progress=progress,
        together=together,
    )


def _answered(filtered: FilteredSample, made: Generated, *, keep: int, filter_enabled: bool) -> AnsweredSample:
    kept = filtered.candidates[:keep]
    answer = UNCERTAIN if made.reply is None else clean_answer(made.reply)
    return AnsweredSample(
        sample_id=filtered.sample_id,
        qid=filtered.qid,
        question=filtered.question,
        category=filtered.category,
        answer_type=filtered.answer_type,
        gold_image_id=filtered.gold_image_id,
        gold_answer=filtered.gold_answer,
        filter_enabled=filter_enabled,
        filter_stats=filtered.filter_stats,
        retrieved_image_ids=tuple(candidate.image_id for candidate in kept),
        retrieved_categories=tuple(candidate.metadata.get("category", "unknown") for candidate in kept),
        retrieval_results=kept,
        answer=answer,
        raw_answer=made.reply or "",
        is_uncertain=is_uncertain(answer),
        shown=made.shown,
    )
