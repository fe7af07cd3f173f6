"""Checkpoints of page-image models: their folder on this disk, what their config says, what state they are in."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval.embedders.loading import explained, hub
from retrieval.errors import InputError

_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_CONFIG = "config.json"
_ADAPTER = "adapter_config.json"
_SMALL = ("*.json", "*.txt", "*.model", "*.jinja", "*.py")
_WEIGHTS = ("*.safetensors", "*.bin")
_SAMPLES = 64
_SAMPLE = 4096


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on this disk, before its weights are loaded.

    `name` is what the user called it, `config` its config.json. `base` is the model that an adapter was trained on;
    the config of an adapter is its base's.
    """

    name: str
    folder: Path
    from_hub: bool
    config: dict[str, Any]
    base: Checkpoint | None = None

    @property
    def architectures(self) -> tuple[str, ...]:
        """The classes that the config, or the adapter's, says the weights are of."""
        named = list(self.config.get("architectures") or ())
        if self.base:
            mapping = read_json(self.folder / _ADAPTER).get("auto_mapping") or {}
            named.insert(0, mapping.get("base_model_class") or "")
        return tuple(filter(None, named))

    @property
    def model_type(self) -> str:
        """The architecture of the backbone, as transformers names it."""
        return str(self.config.get("model_type", ""))

    @property
    def processor_folder(self) -> Path:
        """Where the processor is: adapters mostly have their own, else it is the base's."""
        own = any((self.folder / name).is_file() for name in ("preprocessor_config.json", "processor_config.json"))
        return self.folder if own or self.base is None else self.base.processor_folder

    @property
    def revision(self) -> str:
        """`commit ...` of what came from the hub, else `files ...`, a hash of the folder; an adapter's with its base's.

        The hash is over the names and contents of the small files, and the names, sizes and samples of the weights:
        64 pieces of 4 KiB, evenly spread, so that it takes no time and changes with any training of the weights.
        """
        if self.folder.parent.name == "snapshots":
            own = f"commit {self.folder.name}"
        else:
            own = f"files {_folder_hash(self.folder)}"
        return f"{own} on {self.base.revision}" if self.base else own


def find_checkpoint(name: str) -> Checkpoint:
    """The checkpoint in a folder or on the hub, with its small files; `fetch_weights` gets the rest.

    InputError, in one line with the remedy: no name, no such folder, no checkpoint in it, a hub that can't be reached.
    """
    folder, from_hub = _located(name)
    if not _is_adapter(name, folder, from_hub=from_hub):
        return Checkpoint(name=name, folder=folder, from_hub=from_hub, config=read_json(folder / _CONFIG))
    base = _base(name, folder)
    return Checkpoint(name=name, folder=folder, from_hub=from_hub, config=base.config, base=base)


def fetch_weights(checkpoint: Checkpoint) -> None:
    """Download the weights of what is on the hub, unless the cache has them."""
    if checkpoint.from_hub:
        safe, pickled = _WEIGHTS
        folder = _download(checkpoint.name, (safe,))
        if not any(folder.glob(safe)):
            _download(checkpoint.name, (pickled,))
    if checkpoint.base:
        fetch_weights(checkpoint.base)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; InputError when it is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read: {error}", remedy="download the checkpoint again") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no JSON object", remedy="download the checkpoint again")
    return found


def _located(name: str) -> tuple[Path, bool]:
    """The folder that holds a checkpoint, and whether it came from the hub."""
    if not name:
        raise InputError("no model of page images is named", remedy="give the folder of a checkpoint or a hub name")
    path = Path(name).expanduser()
    from_hub = False
    if path.exists() and not path.is_dir():
        raise InputError(f"{name} is a file", remedy="give the folder of a transformers checkpoint")
    if path.is_dir():
        folder = path.resolve()
    elif _HUB_NAME.fullmatch(name):
        folder, from_hub = _download(name, _SMALL), True
    else:
        raise InputError(
            f"there is no folder {name}", remedy="give the folder of a checkpoint or a hub name (owner/name)"
        )
    if not (folder / _CONFIG).is_file() and not (folder / _ADAPTER).is_file():
        raise InputError(
            f"{name} holds no checkpoint", remedy=f"give the folder or hub name of one with a {_CONFIG} or {_ADAPTER}"
        )
    return folder, from_hub


def _is_adapter(name: str, folder: Path, *, from_hub: bool) -> bool:
    """Whether it is an adapter without a model of its own."""
    if not (folder / _ADAPTER).is_file():
        return False
    if not (folder / _CONFIG).is_file():
        return True
    # Some adapters have their base's config with them, and some merged models what is left of their adapter.
    if from_hub:
        _download(name, _WEIGHTS)
    return not any(folder.glob("model*.safetensors")) and not any(folder.glob("pytorch_model*.bin"))


def _base(name: str, folder: Path) -> Checkpoint:
    """The checkpoint that the adapter in `folder` was trained on, which is no adapter."""
    base = str(read_json(folder / _ADAPTER).get("base_model_name_or_path") or "")
    if base and (folder / base / _CONFIG).is_file():
        base = str(folder / base)
    try:
        where, from_hub = _located(base)
        if _is_adapter(base, where, from_hub=from_hub):
            raise InputError("it is an adapter itself")
    except InputError as error:
        raise InputError(
            f"the adapter {name} needs its base {base or '(none named)'}: {error.problem}",
            remedy=f"set base_model_name_or_path in {folder / _ADAPTER} to the base's folder",
        ) from error
    return Checkpoint(name=base, folder=where, from_hub=from_hub, config=read_json(where / _CONFIG))


def _download(name: str, patterns: tuple[str, ...]) -> Path:
    """The folder of a hub repository in the cache, with the files that match; what is there isn't loaded again."""
    download = hub().snapshot_download
    with explained(name):
        return Path(download(name, allow_patterns=list(patterns)))


def _folder_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in (*_SMALL, *_WEIGHTS) for path in folder.glob(pattern) if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        if any(path.match(pattern) for pattern in _WEIGHTS) and size > _SAMPLES * _SAMPLE:
            with path.open("rb") as file:
                for piece in range(_SAMPLES):
                    file.seek(piece * (size - _SAMPLE) // (_SAMPLES - 1))
                    digest.update(file.read(_SAMPLE))
        else:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
