"""Transformers models in this process: vision-language and text models, by folder or hub name."""

from agent.models.local.model import LocalModel

__all__ = ["LocalModel"]
