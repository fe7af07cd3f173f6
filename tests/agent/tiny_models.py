"""Tiny checkpoints with random weights, written to disk with their processors as `save_pretrained` does.

Real architectures, real processors, a byte-level BPE tokenizer trained on the spot: what a user's checkpoint has, some
ten thousand times smaller. torch is imported inside functions, so that tests that need none of it can be collected.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

CONTEXT = 2048
SPREAD = 0.25
_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
}
_CORPUS = (
    "The orchard at Linden Hill holds 312 apple trees. They were planted in 1996 by Edith Marlow.",
    "How many apple trees does the orchard hold? Answer with one word, and quote the line that says so.",
    "林丘果园共有苹果树三百一十二棵。果园建于1996年，由马立德主持种植。",
)
_MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_QWEN_MARKS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
_INTERN_MARKS = ("<img>", "</img>", "<IMG_CONTEXT>", "<video>")
_LLAVA_MARKS = ("<image>", "<video>")


def _template(picture: str) -> str:
    """A ChatML template that writes `picture` for each image."""
    return (
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
        "{% if message['content'] is string %}{{ message['content'] }}"
        "{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}" + picture + "{% else %}"
        "{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )


_TEMPLATE = _template("<|vision_start|><|image_pad|><|vision_end|>")


def _tokenizer(marks: tuple[str, ...], **named: str) -> Any:
    """A byte-level BPE trained on a few sentences; `named` tokens become attributes, as some processors want them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[*_MARKS, *marks],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(_CORPUS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(marks),
        extra_special_tokens=named,
    )


def _save(kind: Any, config: Any, folder: Path, processor: Any) -> Path:
    """Make the model with the same weights every time, and write it with its processor."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = kind(config)
        with torch.no_grad():
            for weight in model.parameters():
                # Some are created without a value, and one of those held NaN; vectors that have one are scales, shifts.
                if weight.dim() > 1 or not bool(torch.isfinite(weight).all()):
                    weight.copy_(torch.randn(weight.shape) * SPREAD)
    model.generation_config.eos_token_id = getattr(processor, "tokenizer", processor).eos_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _qwen_processor(kind: Any, patch: int) -> tuple[Any, Any]:
    from transformers import Qwen2VLImageProcessor, Qwen2VLVideoProcessor

    tokenizer = _tokenizer(_QWEN_MARKS)
    pixels = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}
    images = Qwen2VLImageProcessor(size=pixels, patch_size=patch)
    return kind(images, tokenizer, Qwen2VLVideoProcessor(patch_size=patch), chat_template=_TEMPLATE), tokenizer


def _qwen_ids(tokenizer: Any) -> dict[str, int]:
    names = ("vision_start_token_id", "vision_end_token_id", "image_token_id", "video_token_id")
    return dict(zip(names, tokenizer.convert_tokens_to_ids(list(_QWEN_MARKS)), strict=True))


def write_qwen2_5_vl(folder: Path) -> Path:
    """Qwen2.5-VL."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor

    processor, tokenizer = _qwen_processor(Qwen2_5_VLProcessor, 14)
    config = Qwen2_5_VLConfig(
        text_config={**_TEXT, "vocab_size": len(tokenizer), "rope_parameters": _ROPE},
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [1],
        },
        **_qwen_ids(tokenizer),
    )
    return _save(Qwen2_5_VLForConditionalGeneration, config, folder, processor)


def write_qwen3_vl(folder: Path) -> Path:
    """Qwen3-VL."""
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor

    processor, tokenizer = _qwen_processor(Qwen3VLProcessor, 16)
    config = Qwen3VLConfig(
        text_config={**_TEXT, "vocab_size": len(tokenizer), "head_dim": 8, "rope_parameters": _ROPE},
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "out_hidden_size": 32,
            "num_position_embeddings": 16,
            "deepstack_visual_indexes": [0],
        },
        **_qwen_ids(tokenizer),
    )
    return _save(Qwen3VLForConditionalGeneration, config, folder, processor)


def write_qwen3_5(folder: Path) -> Path:
    """Qwen3.5: one layer of linear attention and one of full attention."""
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration, Qwen3VLProcessor

    processor, tokenizer = _qwen_processor(Qwen3VLProcessor, 16)
    rope = {**_ROPE, "mrope_interleaved": True, "partial_rotary_factor": 0.5}
    config = Qwen3_5Config(
        text_config={
            **_TEXT,
            "vocab_size": len(tokenizer),
            "head_dim": 16,
            "layer_types": ["linear_attention", "full_attention"],
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "rope_parameters": rope,
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "out_hidden_size": 32,
            "num_position_embeddings": 16,
        },
        **_qwen_ids(tokenizer),
    )
    return _save(Qwen3_5ForConditionalGeneration, config, folder, processor)


def write_internvl(folder: Path) -> Path:
    """InternVL 2.5 and 3, in the format of transformers (checkpoints whose names end in -hf)."""
    from transformers import (
        GotOcr2ImageProcessor,
        InternVLConfig,
        InternVLForConditionalGeneration,
        InternVLProcessor,
        InternVLVideoProcessor,
    )

    start, stop, context, video = _INTERN_MARKS
    tokenizer = _tokenizer(
        _INTERN_MARKS,
        start_image_token=start,
        end_image_token=stop,
        context_image_token=context,
        video_token=video,
    )
    side = {"height": 28, "width": 28}
    processor = InternVLProcessor(
        GotOcr2ImageProcessor(size=side, max_patches=12),
        tokenizer,
        InternVLVideoProcessor(size=side),
        image_seq_length=1,
        chat_template=_template(context),
    )
    config = InternVLConfig(
        text_config={**_TEXT, "model_type": "qwen2", "vocab_size": len(tokenizer)},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": [28, 28],
            "patch_size": [14, 14],
        },
        image_token_id=tokenizer.convert_tokens_to_ids(context),
        image_seq_length=1,
    )
    return _save(InternVLForConditionalGeneration, config, folder, processor)


def write_llava_onevision(folder: Path) -> Path:
    """LLaVA-OneVision."""
    from transformers import (
        LlavaOnevisionConfig,
        LlavaOnevisionForConditionalGeneration,
        LlavaOnevisionImageProcessor,
        LlavaOnevisionProcessor,
        LlavaOnevisionVideoProcessor,
    )

    image, video = _LLAVA_MARKS
    tokenizer = _tokenizer(_LLAVA_MARKS)
    side = {"height": 28, "width": 28}
    grids = [[28 * rows, 28 * columns] for rows in range(1, 4) for columns in range(1, 4)]
    processor = LlavaOnevisionProcessor(
        LlavaOnevisionImageProcessor(size=side, image_grid_pinpoints=grids),
        tokenizer,
        LlavaOnevisionVideoProcessor(size=side),
        num_image_tokens=4,
        vision_feature_select_strategy="full",
        chat_template=_template(image),
    )
    config = LlavaOnevisionConfig(
        text_config={**_TEXT, "model_type": "qwen2", "vocab_size": len(tokenizer)},
        vision_config={
            "model_type": "siglip_vision_model",
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 28,
            "patch_size": 14,
            "vision_use_head": False,
        },
        image_grid_pinpoints=grids,
        image_token_index=tokenizer.convert_tokens_to_ids(image),
        video_token_index=tokenizer.convert_tokens_to_ids(video),
    )
    return _save(LlavaOnevisionForConditionalGeneration, config, folder, processor)


def write_text_model(folder: Path) -> Path:
    """A Qwen2 without vision, such as Qwen2.5-0.5B-Instruct."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = _tokenizer(())
    tokenizer.chat_template = _TEMPLATE
    config = Qwen2Config(**_TEXT, vocab_size=len(tokenizer))
    return _save(Qwen2ForCausalLM, config, folder, tokenizer)


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "Qwen2.5-VL": write_qwen2_5_vl,
    "Qwen3-VL": write_qwen3_vl,
    "Qwen3.5": write_qwen3_5,
    "InternVL": write_internvl,
    "LLaVA-OneVision": write_llava_onevision,
}
"""Every family of vision-language models that the documentation names."""
