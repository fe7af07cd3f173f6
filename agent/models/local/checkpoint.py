"""Checkpoints on disk or on the hub: what their config says, and their weights in memory."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.models.settings import ModelSettings
from retrieval.errors import InputError

_INSTALL = "pip install 'docsage[local]'"
_HUB_NAME = re.compile(r"\w[\w.-]*(/[\w.-]+)?")
_SHOWN = 250


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint before its weights are loaded. `context` is None where the config doesn't say."""

    source: str
    config: Any
    vision: bool
    context: int | None


@dataclass(frozen=True, slots=True)
class Weights:
    """A loaded model. `processor` turns text and pictures into tensors; without vision it is the tokenizer."""

    model: Any
    processor: Any
    tokenizer: Any
    vision: bool


def read_checkpoint(settings: ModelSettings) -> Checkpoint:
    """The config of the checkpoint that the settings name, without its weights.

    InputError, in one line with the remedy: missing packages, no such folder, no checkpoint in it, a hub that can't be
    reached, an architecture that the installed transformers doesn't have.
    """
    source = _source(settings.name)
    transformers = _libraries()
    with _explained(settings):
        config = transformers.AutoConfig.from_pretrained(source, trust_remote_code=settings.local.trust_remote_code)
    return Checkpoint(
        source=source,
        config=config,
        vision=getattr(config, "vision_config", None) is not None,
        context=getattr(config.get_text_config(), "max_position_embeddings", None),
    )


def load_weights(checkpoint: Checkpoint, settings: ModelSettings) -> Weights:
    """The model and its processor in memory; InputError as `read_checkpoint`, and when weights are missing."""
    transformers = _libraries()
    trusted = settings.local.trust_remote_code
    loader = transformers.AutoModelForImageTextToText if checkpoint.vision else transformers.AutoModelForCausalLM
    reader = transformers.AutoProcessor if checkpoint.vision else transformers.AutoTokenizer
    with _explained(settings):
        processor = reader.from_pretrained(checkpoint.source, trust_remote_code=trusted)
        model, found = loader.from_pretrained(
            checkpoint.source,
            dtype=settings.local.dtype,
            device_map=settings.local.device_map,
            trust_remote_code=trusted,
            output_loading_info=True,
        )
    if missing := sorted(found["missing_keys"]):
        # transformers would go on with random numbers in their place.
        raise InputError(
            f"the checkpoint {settings.name} lacks {len(missing)} of its weights, such as {missing[0]}",
            remedy="download it again, or convert it to the format of the installed transformers",
        )
    if not processor.chat_template:
        raise InputError(
            f"the checkpoint {settings.name} has no chat template, so it takes no instructions",
            remedy="take the instruct or chat version of the model",
        )
    tokenizer = processor.tokenizer if checkpoint.vision else processor
    # New tokens come after the last one of each row, so shorter prompts are filled up on the left.
    tokenizer.padding_side = "left"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Weights(model=model.eval(), processor=processor, tokenizer=tokenizer, vision=checkpoint.vision)


def _libraries() -> Any:
    """The module transformers, kept quiet; InputError when a package is missing or two don't fit together."""
    try:
        import accelerate  # noqa: F401  (transformers needs it for device maps)
        import torch  # noqa: F401
        import torchvision  # noqa: F401
        import transformers
        from huggingface_hub.utils import disable_progress_bars
    except ImportError as error:
        raise InputError(f"local models need the package {error.name or error}", remedy=_INSTALL) from error
    except (RuntimeError, OSError) as error:
        # A torchvision that was built for another torch says that an operator doesn't exist.
        raise InputError(
            f"torch can't be loaded: {one_line(error)}",
            remedy=f"take torch and torchvision from the same index, as {_INSTALL} does",
        ) from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return transformers


def _source(name: str) -> str:
    """The folder or hub name to load; InputError for what is neither."""
    if not name:
        raise InputError("no local model is named", remedy="set model.name to the folder of a checkpoint or a hub name")
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"the folder {name} holds no checkpoint", remedy="give the folder with its config.json")
        return str(path)
    if path.exists():
        raise InputError(
            f"{name} is a file",
            remedy="give the folder of a transformers checkpoint; serve other formats to `endpoint`",
        )
    if not _HUB_NAME.fullmatch(name):
        raise InputError(
            f"there is no folder {name}", remedy="give the folder of a checkpoint or a hub name (owner/name)"
        )
    return name


@contextmanager
def _explained(settings: ModelSettings) -> Iterator[None]:
    """Turn what transformers raises over a checkpoint into one line: it raises all kinds of errors over bad files."""
    try:
        yield
    except Exception as error:
        raise InputError(
            f"the local model {settings.name} can't be loaded: {one_line(error)}", remedy=_remedy(str(error), settings)
        ) from error


def _remedy(problem: str, settings: ModelSettings) -> str:
    if "trust_remote_code" in problem or "custom code" in problem:
        return (
            "take a checkpoint in the format of transformers (InternVL's names end in -hf), or set "
            "model.local.trust_remote_code if you trust its authors' code"
        )
    if "does not recognize" in problem or "Unrecognized" in problem:
        return "take a family that the installed transformers has, or upgrade transformers"
    if "out of memory" in problem:
        return "set model.local.dtype to bfloat16, or take a smaller model"
    if "CUDA" in problem or "cuda" in problem or "NVIDIA" in problem:
        return f"set model.local.device_map to auto or cpu, not {settings.local.device_map}"
    if Path(settings.name).expanduser().is_dir():
        return "check that the folder is whole: config, weights (safetensors), tokenizer and processor"
    return "check the name, or download the model where there is a network and give its folder"


def one_line(error: Exception) -> str:
    """The error's message in one line, cut, without the full stop."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
