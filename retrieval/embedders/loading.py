"""Loading models of page images: the packages it takes, devices, weights, and what goes wrong in one line."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval.errors import InputError
from retrieval.settings import ImageEmbedderSettings

_INSTALL = "pip install 'docsage[local]'"
_SHOWN = 250
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "alloc_failed")


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model runs and in what precision: a torch device and a torch dtype."""

    device: Any
    dtype: Any


def libraries() -> Any:
    """The module transformers, kept quiet; InputError when a package is missing or two don't fit together."""
    with _installed():
        import torch  # noqa: F401
        import torchvision  # noqa: F401
        import transformers
    hub()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def colpali() -> Any:
    """The module colpali_engine.models; InputError as `libraries`."""
    libraries()
    with _installed():
        from transformers import conversion_mapping

        # Where there is no mapping yet, colpali-engine renames the weights of Qwen3-VL for the whole process, and
        # chat models that are saved afterwards can't be loaded elsewhere. It names its own mapping when it loads.
        if conversion_mapping.get_checkpoint_conversion_mapping("qwen3_vl") is None:
            conversion_mapping.register_checkpoint_conversion_mapping("qwen3_vl", [])
        import colpali_engine.models
    return colpali_engine.models


def hub() -> Any:
    """The module huggingface_hub, kept quiet; InputError as `libraries`."""
    with _installed():
        import huggingface_hub
        from huggingface_hub.utils import disable_progress_bars
    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return huggingface_hub


def placement(settings: ImageEmbedderSettings) -> Placement:
    """The device and dtype of the settings; InputError for a device that isn't there.

    `auto` takes CUDA, then Apple's MPS, then the CPU, with bfloat16 on the former two and float32 on the last.
    """
    libraries()
    import torch

    there = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    there += ["mps"] if torch.backends.mps.is_available() else []
    there += ["cpu"]
    name = there[0] if settings.device == "auto" else settings.device
    if name not in there and name not in {device.split(":")[0] for device in there}:
        raise InputError(f"there is no device {name} here", remedy=f"take one of auto, {', '.join(there)}")
    device = torch.device(name)
    if settings.dtype == "auto":
        return Placement(device, torch.float32 if device.type == "cpu" else torch.bfloat16)
    return Placement(device, getattr(torch, settings.dtype))


def placed(inputs: Any, place: Placement) -> dict[str, Any]:
    """A batch on the device, its floats in the model's precision."""
    return {
        name: tensor.to(place.device, place.dtype) if tensor.is_floating_point() else tensor.to(place.device)
        for name, tensor in inputs.items()
    }


def load_model(kind: Any, folder: Path, name: str, *, dtype: Any, spared: str = "") -> Any:
    """A model of the class `kind` with the weights in `folder`, on the CPU.

    InputError when weights are missing, for transformers would go on with random numbers in their place; those whose
    names begin with `spared` may be, where an adapter brings them.
    """
    with explained(name):
        # Sizes that don't match are reported as missing weights are, for the error over them says nothing.
        model, found = kind.from_pretrained(
            folder, dtype=dtype, output_loading_info=True, local_files_only=True, ignore_mismatched_sizes=True
        )
    if found["mismatched_keys"]:
        key, own, wanted = sorted(found["mismatched_keys"])[0]
        raise InputError(
            f"the checkpoint {name} has other sizes than {kind.__name__}: {key} is {list(own)}, not {list(wanted)}",
            remedy="set the right family, or take a checkpoint that fits the installed packages",
        )
    missing = sorted(key for key in found["missing_keys"] if not spared or not key.startswith(spared))
    if missing:
        raise InputError(
            f"the checkpoint {name} lacks {len(missing)} of the weights of {kind.__name__}, such as {missing[0]}",
            remedy="take a checkpoint that was trained to embed pages, download it again, or set the right family",
        )
    return model.eval()


def to_device(model: Any, place: Placement, name: str) -> Any:
    """The model on its device; InputError when it doesn't fit there."""
    with explained(name):
        return model.to(place.device)


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what loading a checkpoint raises into one line: bad files lead to errors of all kinds."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"the model {name} of page images can't be loaded: {one_line(error)}", remedy=_remedy(error, name)
        ) from error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device or the machine had no room left."""
    import torch

    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in _OUT_OF_MEMORY)


def free_memory() -> None:
    """Give what is cached for tensors that are gone back to the device."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()


def one_line(error: BaseException) -> str:
    """The error's message in one line, cut, without the full stop."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _remedy(error: Exception, name: str) -> str:
    problem = str(error)
    if isinstance(error, ImportError):
        return _INSTALL
    if is_out_of_memory(error):
        return "set dtype to bfloat16, take a smaller model, or set device to cpu"
    if "trust_remote_code" in problem or "custom code" in problem:
        return "set trust_remote_code if you trust the code of its authors"
    if Path(name).expanduser().is_dir():
        return "check that the folder is whole: config, weights (safetensors), tokenizer and processor"
    return "check the name, or download the model where there is a network and give its folder"


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise InputError(f"models of page images need the package {error.name or error}", remedy=_INSTALL) from error
    except (RuntimeError, OSError) as error:
        # A torchvision that was built for another torch says that an operator doesn't exist.
        raise InputError(
            f"torch can't be loaded: {one_line(error)}",
            remedy=f"take torch and torchvision from the same index, as {_INSTALL} does",
        ) from error
