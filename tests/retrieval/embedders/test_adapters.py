"""ColQwen checkpoints that are adapters over a base, as the published ones are."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_embedders import picture, write_qwen2_5_vl

from retrieval.embedders.base import Matrix
from retrieval.embedders.choice import open_page_embedder
from retrieval.embedders.loading import colpali
from retrieval.errors import InputError
from retrieval.settings import ImageEmbedderSettings

pytestmark = pytest.mark.local

Written = Callable[[str], Path]
PAGES = [picture(100, 140, 1), picture(300, 120, 2)]
TARGETS = r"(.*(model).*(down_proj|gate_proj|up_proj|k_proj|q_proj|v_proj|o_proj).*$|.*(custom_text_proj).*$)"
MODELS = {"colqwen2": "ColQwen2", "colqwen2_5": "ColQwen2_5", "colqwen3": "ColQwen3", "colqwen3_5": "ColQwen3_5"}


def pages(folder: Path, **settings: Any) -> list[Matrix]:
    return open_page_embedder(ImageEmbedderSettings(model=str(folder), **settings)).pages(PAGES)


def write_adapter(family: str, base: Path, folder: Path, **options: Any) -> list[Matrix]:
    """Write an adapter with random weights; returns the page vectors of its base with it, by peft itself."""
    import torch
    from peft import LoraConfig, get_peft_model

    models = colpali()
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.manual_seed(3)
        config = LoraConfig(r=4, init_lora_weights=False, **{"target_modules": TARGETS, **options})
        trained = get_peft_model(getattr(models, MODELS[family]).from_pretrained(base), config).eval()
        trained.save_pretrained(folder)
    name = MODELS[family].replace("2_5", "2_5_") if family == "colqwen2_5" else MODELS[family]
    inputs = getattr(models, f"{name}Processor").from_pretrained(base).process_images(PAGES)
    with torch.inference_mode():
        vectors = trained(**inputs)
    return [rows[mask.bool()].numpy() for rows, mask in zip(vectors, inputs["attention_mask"], strict=True)]


@pytest.mark.parametrize("family", MODELS)
def test_an_adapter_is_loaded_over_its_base(family: str, checkpoint: Written, tmp_path: Path) -> None:
    base = checkpoint(family)
    expected = write_adapter(family, base, tmp_path / "adapter")
    ours = pages(tmp_path / "adapter")
    assert max(np.abs(a - b).max() for a, b in zip(ours, expected, strict=True)) < 1e-4
    assert np.abs(ours[0] - pages(base)[0]).max() > 0.01
    card = open_page_embedder(ImageEmbedderSettings(model=str(tmp_path / "adapter"))).card
    assert card.family == family
    assert card.revision.count("files") == 2


def test_an_adapter_with_the_names_of_older_versions_is_the_same(checkpoint: Written, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    expected = write_adapter("colqwen2_5", checkpoint("colqwen2_5"), tmp_path)
    file = tmp_path / "adapter_model.safetensors"
    older = {name.replace(".language_model.", ".model."): weight for name, weight in load_file(file).items()}
    save_file(older, file)
    assert any("base_model.model.model.layers" in name for name in older)
    assert max(np.abs(a - b).max() for a, b in zip(pages(tmp_path), expected, strict=True)) < 1e-4


def test_an_adapter_may_bring_the_whole_projection(tmp_path: Path) -> None:
    base = write_qwen2_5_vl(tmp_path / "chat")
    options = {"target_modules": r".*language_model.*q_proj", "modules_to_save": ["custom_text_proj"]}
    expected = write_adapter("colqwen2_5", base, tmp_path / "adapter", **options)
    assert max(np.abs(a - b).max() for a, b in zip(pages(tmp_path / "adapter"), expected, strict=True)) < 1e-4


def test_an_adapter_over_a_random_projection_is_refused(tmp_path: Path) -> None:
    base = write_qwen2_5_vl(tmp_path / "chat")
    write_adapter("colqwen2_5", base, tmp_path / "adapter")
    with pytest.raises(InputError, match=r"chat lacks 2 of the weights of ColQwen2_5, such as custom_text_proj.bias"):
        pages(tmp_path / "adapter")


@pytest.mark.parametrize("change", ["missing", "unknown"])
def test_an_adapter_that_does_not_fit_is_refused(change: str, checkpoint: Written, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    write_adapter("colqwen2_5", checkpoint("colqwen2_5"), tmp_path)
    weights = load_file(tmp_path / "adapter_model.safetensors")
    name = "base_model.model.custom_text_proj.lora_A.weight"
    weight = weights.pop(name) if change == "missing" else weights[name].clone()
    if change == "unknown":
        weights[name.replace("custom_text_proj", "another_proj")] = weight
    save_file(weights, tmp_path / "adapter_model.safetensors")
    with pytest.raises(InputError, match=r"doesn't fit its base: 1 weights .*: take the base that it was trained on"):
        pages(tmp_path)


def test_an_adapter_whose_base_is_gone_names_the_line_to_change(checkpoint: Written, tmp_path: Path) -> None:
    write_adapter("colqwen2_5", checkpoint("colqwen2_5"), tmp_path)
    file = tmp_path / "adapter_config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps({**config, "base_model_name_or_path": "/models/gone"}))
    with pytest.raises(InputError, match=r"needs its base /models/gone: .* set base_model_name_or_path in .*json to"):
        pages(tmp_path)
