"""Tiny checkpoints of page-image models with random weights, written to disk with their processors.

Real architectures, real processors, tokenizers trained on the spot: what a user's checkpoint has, some ten thousand
times smaller. torch is imported inside functions, so that tests that need none of it can be collected.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from retrieval.embedders.loading import colpali

SPREAD = 0.25
_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
}
_QWEN_VISION = {"depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "out_hidden_size": 32}
_TOWER = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
_SIDE = 32
_CORPUS = (
    "The orchard at Linden Hill holds 312 apple trees. They were planted in 1996 by Edith Marlow.",
    "林丘果园共有苹果树三百一十二棵。果园建于1996年，由马立德主持种植。",
)
_MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_QWEN_MARKS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def picture(width: int, height: int, seed: int = 0) -> Image.Image:
    """A page of coloured boxes, the same for the same seed."""
    random = np.random.default_rng(seed)
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for _ in range(6):
        left, right = sorted(int(x) for x in random.integers(0, width, 2))
        top, bottom = sorted(int(y) for y in random.integers(0, height, 2))
        draw.rectangle((left, top, right, bottom), fill=tuple(int(part) for part in random.integers(0, 256, 3)))
    return image


def _fill(model: Any) -> Any:
    """Give the model the same weights every time; some are created without a value."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(7)
        with torch.no_grad():
            for weight in model.parameters():
                if weight.dim() > 1 or not bool(torch.isfinite(weight).all()):
                    weight.copy_(torch.randn(weight.shape) * SPREAD)
    return model


def _save(model: Any, processor: Any, folder: Path) -> Path:
    _fill(model).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _byte_tokenizer(marks: tuple[str, ...] = (), **options: Any) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[*_MARKS, *marks], initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(_CORPUS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|endoftext|>", **options)


def _qwen_processor(kind: Any, patch: int) -> Any:
    from transformers import Qwen2VLImageProcessor, Qwen2VLVideoProcessor

    tokenizer = _byte_tokenizer(_QWEN_MARKS, additional_special_tokens=list(_QWEN_MARKS))
    images = Qwen2VLImageProcessor(size={"shortest_edge": 56 * 56, "longest_edge": 280 * 280}, patch_size=patch)
    return kind(images, tokenizer, Qwen2VLVideoProcessor(patch_size=patch), chat_template=_TEMPLATE)


def _qwen_config(kind: Any, processor: Any, vision: dict[str, Any], **text: Any) -> Any:
    names = ("vision_start_token_id", "vision_end_token_id", "image_token_id", "video_token_id")
    ids = dict(zip(names, processor.tokenizer.convert_tokens_to_ids(list(_QWEN_MARKS)), strict=True))
    return kind(
        text_config={"rope_parameters": _ROPE, **_TEXT, "vocab_size": len(processor.tokenizer), **text},
        vision_config={**_QWEN_VISION, **vision},
        **ids,
    )


def _qwen2_vl_config(processor: Any) -> Any:
    from transformers import Qwen2VLConfig

    vision = {"embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2}
    return _qwen_config(Qwen2VLConfig, processor, vision)


def _qwen2_5_vl_config(processor: Any) -> Any:
    from transformers import Qwen2_5_VLConfig

    return _qwen_config(Qwen2_5_VLConfig, processor, {"fullatt_block_indexes": [1]})


def _qwen3_vl_config(processor: Any) -> Any:
    from transformers import Qwen3VLConfig

    vision = {"num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
    return _qwen_config(Qwen3VLConfig, processor, vision, head_dim=8)


def _qwen3_5_config(processor: Any) -> Any:
    from transformers import Qwen3_5Config

    return _qwen_config(
        Qwen3_5Config,
        processor,
        {"num_position_embeddings": 16},
        head_dim=16,
        layer_types=["linear_attention", "full_attention"],
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        rope_parameters={**_ROPE, "mrope_interleaved": True, "partial_rotary_factor": 0.5},
    )


def write_colqwen2(folder: Path) -> Path:
    models = colpali()
    processor = _qwen_processor(models.ColQwen2Processor, 14)
    return _save(models.ColQwen2(_qwen2_vl_config(processor)), processor, folder)


def write_colqwen2_5(folder: Path) -> Path:
    models = colpali()
    processor = _qwen_processor(models.ColQwen2_5_Processor, 14)
    return _save(models.ColQwen2_5(_qwen2_5_vl_config(processor)), processor, folder)


def write_colqwen3(folder: Path) -> Path:
    models = colpali()
    processor = _qwen_processor(models.ColQwen3Processor, 16)
    return _save(models.ColQwen3(_qwen3_vl_config(processor)), processor, folder)


def write_colqwen3_5(folder: Path) -> Path:
    models = colpali()
    processor = _qwen_processor(models.ColQwen3_5Processor, 16)
    return _save(models.ColQwen3_5(_qwen3_5_config(processor)), processor, folder)


def write_qwen2_5_vl(folder: Path) -> Path:
    """The chat model that ColQwen2.5 starts from: no projection."""
    from transformers import Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor

    processor = _qwen_processor(Qwen2_5_VLProcessor, 14)
    return _save(Qwen2_5_VLForConditionalGeneration(_qwen2_5_vl_config(processor)), processor, folder)


def write_qwen3_vl_embedding(folder: Path) -> Path:
    """As published: the architecture of the chat model, with its head."""
    from transformers import Qwen3VLForConditionalGeneration, Qwen3VLProcessor

    processor = _qwen_processor(Qwen3VLProcessor, 16)
    return _save(Qwen3VLForConditionalGeneration(_qwen3_vl_config(processor)), processor, folder)


def write_clip(folder: Path) -> Path:
    from tokenizers import pre_tokenizers
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizer

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    marks = ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: i for i, token in enumerate([*marks, *letters, *(letter + "</w>" for letter in letters)])}
    tokenizer = CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)
    side = {"height": _SIDE, "width": _SIDE}
    images = CLIPImageProcessor(size={"shortest_edge": _SIDE}, crop_size=side)
    text = {**_TOWER, "vocab_size": len(vocabulary), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    config = CLIPConfig(text_config=text, vision_config={**_TOWER, **_PATCHES}, projection_dim=16)
    return _save(CLIPModel(config), CLIPProcessor(images, tokenizer), folder)


def write_siglip(folder: Path) -> Path:
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel, SiglipProcessor

    tokenizer = _byte_tokenizer(model_max_length=64)
    images = SiglipImageProcessor(size={"height": _SIDE, "width": _SIDE})
    text = {**_TOWER, "vocab_size": len(tokenizer), "projection_size": 32, "max_position_embeddings": 64}
    config = SiglipConfig(text_config=text, vision_config={**_TOWER, **_PATCHES})
    return _save(SiglipModel(config), SiglipProcessor(images, tokenizer), folder)


def write_siglip2(folder: Path) -> Path:
    """SigLIP 2 of variable resolution (NaFlex); that of fixed resolution is of SigLIP's architecture."""
    from transformers import (
        Siglip2Config,
        Siglip2ImageProcessor,
        Siglip2Model,
        Siglip2Processor,
        Siglip2Tokenizer,
    )

    letters = sorted({letter.lower() for text in _CORPUS for letter in text if not letter.isspace()})
    pieces = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *letters]
    tokenizer = Siglip2Tokenizer(vocab={piece: i for i, piece in enumerate(pieces)}, merges=[], model_max_length=64)
    images = Siglip2ImageProcessor(patch_size=8, max_num_patches=24)
    text = {**_TOWER, "vocab_size": len(tokenizer), "projection_size": 32, "max_position_embeddings": 64}
    vision = {**_TOWER, "patch_size": 8, "num_patches": 16}
    config = Siglip2Config(text_config=text, vision_config=vision)
    return _save(Siglip2Model(config), Siglip2Processor(images, tokenizer), folder)


def write_chinese_clip(folder: Path) -> Path:
    from transformers import (
        BertTokenizer,
        ChineseCLIPConfig,
        ChineseCLIPImageProcessor,
        ChineseCLIPModel,
        ChineseCLIPProcessor,
    )

    letters = sorted({letter.lower() for text in _CORPUS for letter in text if not letter.isspace()})
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = [*marks, *letters, *(f"##{letter}" for letter in letters if letter.isascii())]
    tokenizer = BertTokenizer(vocab={token: i for i, token in enumerate(tokens)}, model_max_length=512)
    side = {"height": _SIDE, "width": _SIDE}
    images = ChineseCLIPImageProcessor(size=side, crop_size=side)
    text = {**_TOWER, "vocab_size": len(tokens), "max_position_embeddings": 512}
    config = ChineseCLIPConfig(text_config=text, vision_config={**_TOWER, **_PATCHES}, projection_dim=16)
    return _save(ChineseCLIPModel(config), ChineseCLIPProcessor(images, tokenizer), folder)


def write_altclip(folder: Path) -> Path:
    from transformers import AltCLIPConfig, AltCLIPModel, AltCLIPProcessor, CLIPImageProcessor, XLMRobertaTokenizer

    letters = sorted({letter for text in _CORPUS for letter in text if not letter.isspace()})
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *letters, "<mask>"]
    tokenizer = XLMRobertaTokenizer(vocab=[(piece, -1.0) for piece in pieces], model_max_length=512)
    images = CLIPImageProcessor(size={"shortest_edge": _SIDE}, crop_size={"height": _SIDE, "width": _SIDE})
    text = {**_TOWER, "vocab_size": len(pieces), "max_position_embeddings": 514, "project_dim": 16}
    vision = {**_TOWER, **_PATCHES, "projection_dim": 16}
    config = AltCLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    return _save(AltCLIPModel(config), AltCLIPProcessor(images, tokenizer), folder)


_PATCHES = {"image_size": _SIDE, "patch_size": 8}

WRITERS: dict[str, Callable[[Path], Path]] = {
    "colqwen2": write_colqwen2,
    "colqwen2_5": write_colqwen2_5,
    "colqwen3": write_colqwen3,
    "colqwen3_5": write_colqwen3_5,
    "qwen3_vl": write_qwen3_vl_embedding,
    "clip": write_clip,
    "siglip": write_siglip,
    "siglip2": write_siglip2,
    "chinese_clip": write_chinese_clip,
    "altclip": write_altclip,
}
"""Every architecture that is supported, by its family; SigLIP 2 is of the family siglip."""
