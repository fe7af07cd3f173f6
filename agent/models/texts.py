"""Texts of servers and scripts, fit to be sent, written down and shown: nobody vouches for what is in them."""

from __future__ import annotations

import re

from agent.models.types import Reply

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")
_CONTROL_IN_LINES = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
"""What terminals take for an order, such as one for a colour or for a title."""


def encodable(text: str) -> str:
    """The text with half characters (lone surrogates, which damaged texts hold) replaced: UTF-8 has none."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def cleaned(text: str) -> str:
    """The text without half characters, and without control characters other than tabs and line breaks."""
    return _CONTROL.sub("", encodable(text))


def cleaned_line(text: str) -> str:
    """The text on one line, without anything that a terminal would obey."""
    spaced = " ".join(_ESCAPE.sub("", encodable(text)).split())
    return " ".join(_CONTROL_IN_LINES.sub("", spaced).split())


def cleaned_reply(reply: Reply) -> Reply:
    """The reply with its text and thinking cleaned; itself when there is nothing to clean."""
    text, thinking = cleaned(reply.text), None if reply.thinking is None else cleaned(reply.thinking)
    if (text, thinking) == (reply.text, reply.thinking):
        return reply
    return reply.model_copy(update={"text": text, "thinking": thinking})
