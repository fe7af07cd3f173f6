"""Which embedder the settings mean, and what is refused in one line with the remedy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrieval.embedders.checkpoint import find_checkpoint
from retrieval.embedders.choice import open_page_embedder, tell_family
from retrieval.errors import InputError
from retrieval.settings import ImageEmbedderSettings, ImageFamily

Written = Callable[[str], Path]


def refusal(name: str | Path, **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        open_page_embedder(ImageEmbedderSettings(model=str(name), **settings))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def described(folder: Path, **config: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("package", ["torch", "transformers", "torchvision", "huggingface_hub"])
def test_without_the_packages_the_remedy_is_the_extra(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    found = refusal(described(tmp_path / "clip", model_type="clip"))
    assert found.startswith("models of page images need the package ")
    assert found.endswith(": pip install 'docsage[local]'")


def test_the_choice_of_an_embedder_loads_no_torch() -> None:
    code = "import sys, retrieval.embedders.choice as c; print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("config", "folder", "family"),
    [
        ({"model_type": "qwen2_vl", "architectures": ["ColQwen2"]}, "merged", "colqwen2"),
        ({"model_type": "qwen2_5_vl", "architectures": ["ColQwen2_5"]}, "merged", "colqwen2_5"),
        ({"model_type": "qwen3_vl", "architectures": ["ColQwen3"]}, "merged", "colqwen3"),
        ({"model_type": "qwen3_5", "architectures": ["ColQwen3_5"]}, "merged", "colqwen3_5"),
        (
            {"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"]},
            "Qwen3-VL-Embedding-2B",
            "qwen3_vl",
        ),
        ({"model_type": "clip", "architectures": ["CLIPModel"]}, "any", "clip"),
        ({"model_type": "siglip"}, "any", "siglip"),
        ({"model_type": "siglip2"}, "any", "siglip"),
        ({"model_type": "chinese_clip"}, "any", "chinese_clip"),
        ({"model_type": "altclip"}, "any", "altclip"),
    ],
)
def test_the_config_tells_the_family(config: dict[str, Any], folder: str, family: str, tmp_path: Path) -> None:
    assert tell_family(find_checkpoint(str(described(tmp_path / folder, **config)))) == family


@pytest.mark.parametrize(("model_type", "family"), [("qwen2_vl", "colqwen2"), ("qwen3_vl", "colqwen3")])
def test_an_adapter_is_of_the_family_of_its_base(model_type: str, family: str, tmp_path: Path) -> None:
    described(tmp_path / "base", model_type=model_type, architectures=["SomeForConditionalGeneration"])
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "../base"}))
    assert tell_family(find_checkpoint(str(adapter))) == family


@pytest.mark.parametrize("base", ["", ".", "../other"])
def test_an_adapter_without_a_whole_model_to_start_from_is_refused(base: str, tmp_path: Path) -> None:
    for name, of in (("adapter", base), ("other", "../adapter")):
        described(tmp_path / name, model_type="qwen2_5_vl")
        (tmp_path / name / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": of}))
    with pytest.raises(InputError, match=r"needs its base .*: set base_model_name_or_path in .*adapter_config.json to"):
        find_checkpoint(str(tmp_path / "adapter"))


def test_a_chat_model_is_not_taken_for_an_embedder_unless_it_is_said_to_be_one(tmp_path: Path) -> None:
    folder = described(
        tmp_path / "Qwen3-VL-2B", model_type="qwen3_vl", architectures=["Qwen3VLForConditionalGeneration"]
    )
    found = find_checkpoint(str(folder))
    with pytest.raises(
        InputError, match=r"may be an embedder or a chat model.*: set family to colqwen3 or qwen3_vl if"
    ):
        tell_family(found)
    assert tell_family(found, "qwen3_vl") == "qwen3_vl"


@pytest.mark.parametrize(
    ("config", "wanted", "problem"),
    [
        ({"model_type": "llama"}, None, "is no embedder of page images that docsage knows: its config names llama: "),
        ({}, None, "its config names nothing: take a checkpoint of one of the families colqwen2, colqwen2_5,"),
        ({"model_type": "clip"}, "siglip", "isn't of the family siglip: its config names clip: set family to clip"),
        (
            {"model_type": "qwen3_vl", "architectures": ["ColQwen3"]},
            "qwen3_vl",
            "isn't of the family qwen3_vl: its config names ColQwen3: set family to colqwen3, or leave it out",
        ),
    ],
)
def test_what_the_config_contradicts_is_refused(
    config: dict[str, Any], wanted: ImageFamily | None, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        tell_family(find_checkpoint(str(described(tmp_path / "model", **config))), wanted)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "no model of page images is named: give the folder of a checkpoint or a hub name"),
        ("{}/nowhere", "nowhere: give the folder of a checkpoint or a hub name (owner/name)"),
        ("nowhere", "there is no folder nowhere: "),
        ("{}", "holds no checkpoint: give the folder or hub name of one with a config.json or adapter_config.json"),
        ("{}/weights.gguf", "weights.gguf is a file: give the folder of a transformers checkpoint"),
        ("{}/broken", "can't be read: "),
    ],
)
def test_a_name_of_no_checkpoint_is_refused(name: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "weights.gguf").write_bytes(b"GGUF")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{")
    with pytest.raises(InputError) as caught:
        find_checkpoint(name.format(tmp_path))
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.local
def test_a_hub_that_cannot_be_reached_is_told_in_one_line() -> None:
    found = refusal("owner/tiny-colqwen")
    assert found.startswith("the model owner/tiny-colqwen of page images can't be loaded: ")
    assert found.endswith("download the model where there is a network and give its folder")


@pytest.mark.local
def test_a_model_of_the_hub_has_its_commit_as_revision(
    checkpoint: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "models--owner--tiny-clip"
    shutil.copytree(checkpoint("clip"), repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    card = open_page_embedder(ImageEmbedderSettings(model="owner/tiny-clip")).card
    assert card.model == "owner/tiny-clip"
    assert card.revision == f"commit {commit}"


@pytest.mark.local
@pytest.mark.parametrize(
    ("family", "weight", "problem"),
    [
        (
            "colqwen2_5",
            "custom_text_proj.weight",
            "lacks 1 of the weights of ColQwen2_5, such as custom_text_proj.weight",
        ),
        ("siglip", "vision_model.head.probe", "lacks 1 of the weights of SiglipModel"),
        ("chinese_clip", "text_projection.weight", "lacks 1 of the weights of ChineseCLIPModel"),
    ],
)
def test_weights_that_are_missing_are_not_made_up(
    family: str, weight: str, problem: str, own_checkpoint: Written
) -> None:
    from safetensors.torch import load_file, save_file

    folder = own_checkpoint(family)
    weights = load_file(folder / "model.safetensors")
    del weights[weight]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert problem in refusal(folder)


@pytest.mark.local
def test_weights_of_another_size_are_named(own_checkpoint: Written) -> None:
    from safetensors.torch import load_file, save_file

    folder = own_checkpoint("colqwen3")
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("custom_text_proj.bias"))
    save_file({**weights, name: weights[name][:64].clone()}, folder / "model.safetensors", metadata={"format": "pt"})
    assert "has other sizes than ColQwen3: custom_text_proj.bias is [64], not [320]: set the right" in refusal(folder)


@pytest.mark.local
def test_a_folder_that_lacks_files_is_refused(own_checkpoint: Written) -> None:
    for family, file in (("clip", "model.safetensors"), ("colqwen2_5", "tokenizer.json"), ("siglip", "tokenizer.json")):
        folder = own_checkpoint(family)
        (folder / file).unlink()
        assert f"the model {folder} of page images can't be loaded: " in refusal(folder)


@pytest.mark.local
def test_settings_that_the_family_does_not_have_are_refused(checkpoint: Written) -> None:
    assert "take no instruction ('Find'): leave it out" in refusal(checkpoint("colqwen2_5"), instruction="Find")
    assert "max_pixels (5000) has no effect on" in refusal(checkpoint("clip"), max_pixels=5000)


@pytest.mark.local
@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta"])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(device: str, checkpoint: Written) -> None:
    found = refusal(checkpoint("clip"), device=device)
    assert found.startswith(f"there is no device {device} here: take one of auto, ")
    assert found.endswith("cpu")


@pytest.mark.local
def test_the_card_changes_with_what_vectors_depend_on_and_nothing_else(own_checkpoint: Written, tmp_path: Path) -> None:
    folder = own_checkpoint("qwen3_vl")

    def card(place: Path = folder, **settings: Any) -> Any:
        return open_page_embedder(ImageEmbedderSettings(model=str(place), **settings)).card

    first = card()
    assert card(dtype="bfloat16", batch_tokens=50, family="qwen3_vl") == first
    for settings in ({"max_pixels": 5000}, {"instruction": "Find"}, {"page_instruction": "See"}, {"dimension": 8}):
        assert card(**settings) != first, settings

    moved = Path(shutil.copytree(folder, tmp_path / "elsewhere" / folder.name))
    os.utime(moved / "model.safetensors", (1, 1))
    assert card(moved) == first

    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights["model.visual.patch_embed.proj.bias"] += 0.5
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert card() != first
