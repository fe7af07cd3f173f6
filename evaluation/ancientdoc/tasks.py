"""AncientDoc's five tasks and the names that they go by."""

from __future__ import annotations

import re
from typing import Literal, get_args

from retrieval.text.tokens import simplified

AncientTask = Literal["ocr", "translation", "reasoning_qa", "knowledge_qa", "linguistic_qa"]
TASKS: tuple[AncientTask, ...] = get_args(AncientTask)
UNDERSTANDING: tuple[AncientTask, ...] = ("translation", "reasoning_qa", "knowledge_qa", "linguistic_qa")
"""The tasks of the main comparison, which leaves OCR out (SAGE, §4.1)."""

_SPELLINGS: dict[AncientTask, str] = {
    "ocr": "ocr, page ocr, page-level ocr, text recognition, transcription, 文字识别, 页面识别, 页级ocr, 页面级ocr, "
    "整页ocr, 转写, 识读",
    "translation": "translation, vernacular translation, 翻译, 白话翻译, 白话文翻译, 现代文翻译, 古文翻译, 今译",
    "reasoning_qa": "reasoning, reasoning qa, reasoning-based qa, 推理, 推理问答, 推理型问答, 基于推理的问答",
    "knowledge_qa": "knowledge, knowledge qa, knowledge-based qa, 知识, 知识问答, 知识型问答, 基于知识的问答",
    "linguistic_qa": "linguistic, linguistic qa, linguistic variant, linguistic variant qa, linguistic-variant qa, "
    "语言, 语言问答, 语言变体, 语言变体问答, 语言风格问答",
}


def _bare(name: str) -> str:
    """Letters and digits alone, in lower case and simplified characters; "task" and 任务 at the end are dropped."""
    letters = re.sub(r"[\W_]+", "", simplified(name).casefold())
    return re.sub(r"(?:tasks?|任务)$", "", letters)


_NAMES = {_bare(spelling): task for task, names in _SPELLINGS.items() for spelling in names.split(", ")}


def task_named(name: str) -> AncientTask | None:
    """The task of a name in any usual spelling, English or Chinese; None when it is none of the five."""
    return _NAMES.get(_bare(name))
