"""Page images and questions to vectors, by every family: real architectures at tiny sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tiny_embedders import WRITERS, picture, write_qwen3_vl_embedding

from retrieval.embedders.base import Matrix, PageEmbedder
from retrieval.embedders.choice import open_page_embedder
from retrieval.embedders.loading import colpali
from retrieval.errors import InputError
from retrieval.settings import ImageEmbedderSettings

pytestmark = pytest.mark.local

Written = Callable[[str], Path]
CLASSES = {
    "colqwen2": ("ColQwen2", "ColQwen2Processor"),
    "colqwen2_5": ("ColQwen2_5", "ColQwen2_5_Processor"),
    "colqwen3": ("ColQwen3", "ColQwen3Processor"),
    "colqwen3_5": ("ColQwen3_5", "ColQwen3_5Processor"),
}
PAGES = [picture(100, 140, 1), picture(300, 120, 2), picture(640, 480, 3), picture(90, 90, 4)]
ROOM = 130
"""Tokens, padding included, that the simulated memory takes: the largest page has 116."""
QUESTIONS = ["How many trees?", "林丘果园共有多少棵苹果树？", "Who planted the apple trees at Linden Hill, and when?"]


def opened(folder: Path, **settings: Any) -> PageEmbedder:
    return open_page_embedder(ImageEmbedderSettings(model=str(folder), **settings))


def furthest(these: list[Matrix], those: list[Matrix]) -> float:
    assert [rows.shape for rows in these] == [rows.shape for rows in those]
    return max(float(np.abs(a - b).max()) for a, b in zip(these, those, strict=True))


@pytest.mark.parametrize("architecture", WRITERS)
def test_vectors_have_length_1_and_depend_on_nothing_else_in_the_batch(architecture: str, checkpoint: Written) -> None:
    embedder = opened(checkpoint(architecture))
    together = embedder.pages(PAGES)
    alone = [embedder.pages([page])[0] for page in PAGES]
    in_pairs = opened(checkpoint(architecture), batch_tokens=200).pages(PAGES)
    assert furthest(together, alone) < 1e-4
    assert furthest(together, in_pairs) < 1e-4
    asked = embedder.queries(QUESTIONS)
    assert furthest(asked, [embedder.queries([question])[0] for question in QUESTIONS]) < 1e-4
    for rows in together + asked:
        assert rows.dtype == np.float32
        assert rows.shape[1] == embedder.card.dimension
        assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-5
        assert (len(rows) > 1) == embedder.card.multi
    # Different pages, and different questions, come out different.
    assert len({rows.tobytes() for rows in together}) == len(PAGES)
    assert len({rows.tobytes() for rows in asked}) == len(QUESTIONS)
    assert embedder.pages([]) == []
    assert embedder.queries([]) == []


@pytest.mark.parametrize("family", CLASSES)
def test_colqwen_ranks_as_colpali_engine_does(family: str, checkpoint: Written) -> None:
    import torch

    folder = checkpoint(family)
    names = CLASSES[family]
    weights = getattr(colpali(), names[0]).from_pretrained(folder).eval()
    processor = getattr(colpali(), names[1]).from_pretrained(folder)
    with torch.inference_mode():
        pages, questions = processor.process_images(PAGES), processor.process_queries(QUESTIONS)
        theirs = processor.score_multi_vector(weights(**questions), weights(**pages), device="cpu").numpy()

    embedder = opened(folder)
    ours = [
        [float((asked @ page.T).max(axis=1).sum()) for page in embedder.pages(PAGES)]
        for asked in embedder.queries(QUESTIONS)
    ]
    assert np.abs(np.array(ours) - theirs).max() < 1e-3
    assert (np.argsort(ours) == np.argsort(theirs)).all()
    # No vector of padding: as many as the page's own image tokens, and those of the prompt.
    tokens = pages["image_grid_thw"].prod(dim=1) // 4
    prompt = len(processor.tokenizer(processor.visual_prompt_prefix)["input_ids"]) - 1
    assert [len(page) for page in embedder.pages(PAGES)] == [int(count) + prompt for count in tokens]


@pytest.mark.parametrize("family", ["colqwen2", "colqwen2_5"])
def test_a_checkpoint_in_the_layout_of_older_versions_is_the_same(
    family: str, checkpoint: Written, own_checkpoint: Written
) -> None:
    """Published ones are: a flat config, other names of weights, limits of pixels in preprocessor_config.json."""
    from safetensors.torch import load_file, save_file

    folder = own_checkpoint(family)
    config = json.loads((folder / "config.json").read_text())
    text = config.pop("text_config")
    rope = text.pop("rope_parameters")
    older = {
        "rope_theta": rope["rope_theta"],
        "rope_scaling": {"type": "mrope", "mrope_section": rope["mrope_section"]},
    }
    (folder / "config.json").write_text(json.dumps({**text, **older, **config}))
    weights = load_file(folder / "model.safetensors")
    renamed = {name.replace("language_model.", "model."): weight for name, weight in weights.items()}
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    images = json.loads((folder / "processor_config.json").read_text())["image_processor"]
    limits = {"min_pixels": images["size"]["shortest_edge"], "max_pixels": images.pop("size")["longest_edge"]}
    (folder / "preprocessor_config.json").write_text(json.dumps({**images, **limits}))
    (folder / "processor_config.json").unlink()

    old, new = opened(folder), opened(checkpoint(family))
    assert old.card.preprocessing == new.card.preprocessing
    assert furthest(old.pages(PAGES), new.pages(PAGES)) < 1e-6


def test_qwen3_vl_embedding_is_the_last_tokens_state(checkpoint: Written) -> None:
    import torch
    from transformers import Qwen3VLForConditionalGeneration, Qwen3VLProcessor

    folder = checkpoint("qwen3_vl")
    processor = Qwen3VLProcessor.from_pretrained(folder)
    model = Qwen3VLForConditionalGeneration.from_pretrained(folder).eval()

    def by_hand(instruction: str, content: str, **images: Any) -> Matrix:
        prompt = (
            f"<|im_start|>system\n{instruction}<|im_end|>\n<|im_start|>user\n{content}<|im_end|>\n"
            "<|im_start|>assistant\n"
        )
        with torch.inference_mode():
            states = model.model(**processor(text=[prompt], return_tensors="pt", **images)).last_hidden_state
        row = states[0, -1].numpy()
        return np.asarray(row / np.linalg.norm(row), np.float32)[None]

    embedder = opened(folder)
    image = by_hand("Represent the user's input.", "<|vision_start|><|image_pad|><|vision_end|>", images=[PAGES[0]])
    assert furthest(embedder.pages(PAGES[:1]), [image]) < 1e-4
    asked = by_hand("Retrieve images or text relevant to the user's query.", QUESTIONS[0])
    assert furthest(embedder.queries(QUESTIONS)[:1], [asked]) < 1e-4

    told = opened(folder, instruction="Find the page", page_instruction="Describe the page!")
    assert furthest(told.queries(QUESTIONS[:1]), [by_hand("Find the page.", QUESTIONS[0])]) < 1e-4
    assert furthest(told.pages(PAGES[:1]), embedder.pages(PAGES[:1])) > 1e-3


@pytest.mark.parametrize("architecture", ["clip", "siglip", "chinese_clip", "altclip"])
def test_clip_vectors_are_those_of_the_models_own_towers(architecture: str, checkpoint: Written) -> None:
    import torch
    from transformers import AutoModel, AutoProcessor

    folder = checkpoint(architecture)
    model, processor = AutoModel.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder)
    padding = "max_length" if architecture == "siglip" else True
    texts = processor(text=QUESTIONS, padding=padding, truncation=True, return_tensors="pt")
    if architecture == "siglip":
        texts.pop("attention_mask")
    images = processor(images=PAGES, return_tensors="pt")
    with torch.inference_mode():
        found = model(**texts, **images)
    embedder = opened(folder)
    assert np.abs(np.concatenate(embedder.pages(PAGES)) - found.image_embeds.numpy()).max() < 1e-5
    assert np.abs(np.concatenate(embedder.queries(QUESTIONS)) - found.text_embeds.numpy()).max() < 1e-5


@pytest.mark.parametrize("architecture", WRITERS)
def test_a_question_longer_than_the_text_model_reads_is_cut(architecture: str, checkpoint: Written) -> None:
    (vectors,) = opened(checkpoint(architecture)).queries(["how many apple trees? " * 70])
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("family", ["qwen3_vl", "colqwen2_5"])
def test_a_smaller_dimension_is_the_front_of_the_whole_vector(family: str, checkpoint: Written) -> None:
    whole, small = opened(checkpoint(family)), opened(checkpoint(family), dimension=8)
    assert small.card.dimension == 8
    cut = [rows[:, :8] / np.linalg.norm(rows[:, :8], axis=1, keepdims=True) for rows in whole.pages(PAGES)]
    assert furthest(small.pages(PAGES), cut) < 1e-5
    with pytest.raises(InputError, match=r"which can't be cut to 1000: set dimension to \d+ at most"):
        opened(checkpoint(family), dimension=1000)


@pytest.mark.parametrize("family", ["colqwen3", "qwen3_vl", "siglip2"])
def test_fewer_pixels_are_seen_when_they_are_limited(family: str, checkpoint: Written) -> None:
    full, limited = opened(checkpoint(family)), opened(checkpoint(family), max_pixels=64 * 64)
    assert limited.card != full.card
    before, after = full.pages(PAGES[2:3])[0], limited.pages(PAGES[2:3])[0]
    assert len(after) < len(before) if full.card.multi else np.abs(after - before).max() > 1e-3


def test_half_precision_gives_nearly_the_same_vectors_of_length_1(checkpoint: Written) -> None:
    whole, half = opened(checkpoint("colqwen2_5")), opened(checkpoint("colqwen2_5"), dtype="bfloat16")
    assert half.card == whole.card
    for ours, theirs in zip(half.pages(PAGES), whole.pages(PAGES), strict=True):
        assert np.abs(np.linalg.norm(ours, axis=1) - 1).max() < 1e-5
        assert (ours * theirs).sum(axis=1).mean() > 0.98


@pytest.mark.parametrize("error", ["torch", "message"])
def test_when_memory_runs_out_smaller_batches_give_the_same_vectors(
    error: str, checkpoint: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from colpali_engine.models import ColQwen2_5

    embedder = opened(checkpoint("colqwen2_5"))
    expected = embedder.pages(PAGES)
    forward = ColQwen2_5.forward
    tried = []

    def small(self: Any, **inputs: Any) -> Any:
        tried.append(inputs["input_ids"].numel())
        if tried[-1] > ROOM:
            raise torch.OutOfMemoryError("full") if error == "torch" else RuntimeError("MPS backend out of memory")
        return forward(self, **inputs)

    monkeypatch.setattr(ColQwen2_5, "forward", small)
    assert furthest(embedder.pages(PAGES), expected) < 1e-4
    # All four pages, then two, then the largest alone.
    assert tried[:3] == [4 * tried[2], 2 * tried[2], tried[2]]
    assert max(tried[2:]) <= ROOM
    # The next pages begin with what the memory had room for.
    tried.clear()
    assert furthest(embedder.pages(PAGES), expected) < 1e-4
    assert max(tried) <= ROOM


def test_a_page_that_memory_has_no_room_for_is_named_by_its_size(
    checkpoint: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    from colpali_engine.models import ColQwen2_5

    embedder = opened(checkpoint("colqwen2_5"))

    def none(self: Any, **inputs: Any) -> Any:
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(ColQwen2_5, "forward", none)
    with pytest.raises(InputError, match=r"one page of 640 by 480 pixels: lower max_pixels"):
        embedder.pages(PAGES)
    with pytest.raises(InputError, match=r"one question of 53 characters"):
        embedder.queries(QUESTIONS)


def test_other_failures_of_a_model_are_not_hidden(checkpoint: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    from colpali_engine.models import ColQwen2_5

    embedder = opened(checkpoint("colqwen2_5"))

    def broken(self: Any, **inputs: Any) -> Any:
        raise RuntimeError("shapes don't match")

    monkeypatch.setattr(ColQwen2_5, "forward", broken)
    with pytest.raises(RuntimeError, match="shapes don't match"):
        embedder.pages(PAGES)


def test_what_is_transparent_is_paper(checkpoint: Written) -> None:
    embedder = opened(checkpoint("siglip"))
    clear = Image.new("RGBA", (80, 80), (0, 0, 0, 0))
    clear.paste((200, 0, 0, 255), (20, 20, 60, 60))
    solid = Image.new("RGB", (80, 80), "white")
    solid.paste((200, 0, 0), (20, 20, 60, 60))
    assert furthest(embedder.pages([clear]), embedder.pages([solid])) < 1e-6
    grey = solid.convert("L")
    assert furthest(embedder.pages([grey]), embedder.pages([grey.convert("RGB")])) < 1e-6


def test_a_strip_that_the_model_refuses_is_named_by_its_size(checkpoint: Written) -> None:
    with pytest.raises(InputError, match=r"can't take a page of 5 by 2000 pixels: .*: cut it into pieces"):
        opened(checkpoint("colqwen2_5")).pages([*PAGES, Image.new("RGB", (5, 2000))])


def test_vectors_that_are_no_numbers_are_refused(own_checkpoint: Written) -> None:
    from safetensors.torch import load_file, save_file

    folder = own_checkpoint("colqwen2_5")
    weights = load_file(folder / "model.safetensors")
    weights["custom_text_proj.bias"][3] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"gave vectors that are no numbers .*: set dtype"):
        opened(folder).pages(PAGES)


def test_a_closed_embedder_is_not_used_by_mistake(checkpoint: Written) -> None:
    embedder = opened(checkpoint("clip"))
    embedder.close()
    embedder.close()
    with pytest.raises(RuntimeError, match="closed"):
        embedder.pages(PAGES)


def test_chat_models_are_saved_as_before_once_colpali_engine_is_loaded(checkpoint: Written, tmp_path: Path) -> None:
    """Left alone, colpali-engine renames the weights of Qwen3-VL for the whole process."""
    from safetensors import safe_open

    opened(checkpoint("colqwen3")).close()
    folder = write_qwen3_vl_embedding(tmp_path / "chat")
    with safe_open(folder / "model.safetensors", "pt") as file:
        assert {name.split(".")[0] for name in file.keys()} == {"lm_head", "model"}  # noqa: SIM118
        assert "model.visual.pos_embed.weight" in file.keys()  # noqa: SIM118
