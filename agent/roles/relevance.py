"""The judge that asks a model whether a page holds evidence, by its image where it has eyes, else by its text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

from agent.matching import is_chinese
from agent.models.calls import ModelCalls, text_tokens
from agent.models.client import ModelClient
from agent.models.types import ModelFailed, Prompt, Reply
from agent.prompts import Language, fenced, prompt_file, render
from agent.roles.pictures import encoded
from agent.text_judge import TextJudge
from retrieval.errors import DocsageError
from tools.judgments import JudgedPage, JudgeFailed, Judgment, PageJudge, page_image, page_text
from tools.verdicts import verdict_of, yes_probability

Form = Literal["image", "text"]
_BRIEF, _LONGER = 16, 160
"""Tokens that hold YES or NO with the few words that some models put before it, and with a reason before it."""
_PROMPT_TOKENS = 600
"""What the prompt takes besides the page."""


def open_judge(client: ModelClient | None, calls: ModelCalls | None = None) -> PageJudge:
    """The judge of a profile: its model, asked through `calls` where a budget holds, else the words of the pages."""
    return TextJudge() if client is None else ModelJudge(client, calls)


class ModelJudge:
    """Asks for YES or NO in few tokens, with their probabilities where the model gives them.

    A model that needs more tokens before it comes to the point is given them, from then on. One that doesn't come to it
    in all that it may say is undecided, and isn't asked for so much again.
    """

    def __init__(self, client: ModelClient, calls: ModelCalls | None = None) -> None:
        self._client = client
        self._ask: Callable[[Prompt], Awaitable[Reply]] = client.reply if calls is None else calls.reply
        self._form: Form | None = None
        self._room = 0
        self._brief: int | None = _BRIEF
        self._rambles = False

    async def ready(self) -> None:
        """Ask the model what it can do; JudgeFailed when it can't be reached."""
        try:
            capabilities = await self._client.capabilities()
        except DocsageError as error:
            raise _failed(error) from error
        settings = self._client.settings
        self._form = "image" if capabilities.vision and settings.evidence != "text" else "text"
        self._room = max(min(settings.evidence_tokens, capabilities.context - _PROMPT_TOKENS), 1)

    @property
    def identity(self) -> str:
        """Model, decoding, version of the prompt, and what the model is shown; final once `ready` was awaited."""
        shown = f"text {self._room}" if self._form == "text" else "image"
        return f"{self._client.model.identity}|relevance/{prompt_file('relevance').version}|{shown}"

    async def judge(self, question: str, page: JudgedPage) -> Judgment:
        """The judgment of one page; JudgeFailed when the page can't be read or the model gives no reply."""
        prompt, whole = await self._prompt(question, page)
        try:
            reply = await self._reply(prompt)
        except DocsageError as error:
            raise _failed(error) from error
        verdict = verdict_of(reply.text)
        if verdict == "no" and not whole:
            verdict = None  # what is asked for may stand in the part that wasn't shown
        probability = None if verdict is None or reply.chances is None else yes_probability(reply.chances)
        return Judgment(verdict=verdict, probability=probability, reply=reply.text)

    async def _prompt(self, question: str, page: JudgedPage) -> tuple[Prompt, bool]:
        """What is asked about a page, and whether it shows the page as a whole."""
        language: Language = "zh" if is_chinese(question) else "en"
        if self._form == "image":
            image = await page_image(page)
            picture = await asyncio.to_thread(encoded, image)
            system, user, version = render("relevance", "image", language, question=question)
            return Prompt(role="relevance", system=system, user=user, version=version, pictures=(picture,)), True
        text = await page_text(page)
        shown = _begun(text, self._room)
        system, user, version = render("relevance", "text", language, question=question, page=fenced(shown))
        return Prompt(role="relevance", system=system, user=user, version=version), shown == text

    async def _reply(self, prompt: Prompt) -> Reply:
        """A reply that comes to the point, or the beginning of one that doesn't; ModelFailed for none."""
        while True:
            brief = self._brief
            try:
                reply = await self._ask(replace(prompt, brief=brief))
            except ModelFailed as error:
                if not error.cut or self._rambles:
                    raise
                self._rambles = brief is None
            else:
                if self._rambles or reply.finish != "length" or verdict_of(reply.text) is not None:
                    return reply
            # Others that are asked at the same time may have changed it already.
            if self._brief == brief:
                self._brief = {_BRIEF: _LONGER, _LONGER: None, None: _LONGER}[brief]


def _begun(text: str, tokens: int) -> str:
    """The beginning of a text that takes about so many tokens; all of it where it takes no more."""
    taken = text_tokens(text)
    return text if taken <= tokens else text[: len(text) * tokens // taken]


def _failed(error: DocsageError) -> JudgeFailed:
    return JudgeFailed(error.problem, remedy=error.remedy)
