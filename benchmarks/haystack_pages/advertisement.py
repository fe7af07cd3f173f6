"""Advertisements: one sentence in large type over a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from PIL import Image, ImageDraw

from haystack_pages.paragraphs import Language, Leaf
from haystack_pages.typesetting import Colour, Type, break_lines, draw_line, draw_lines, width_of

_SIZES = ((800, 800), (800, 1060), (1080, 720))
_PALETTES: tuple[tuple[Colour, Colour, Colour], ...] = (
    ((12, 44, 92), (70, 150, 214), (255, 206, 84)),
    ((104, 14, 34), (226, 84, 64), (255, 226, 150)),
    ((14, 66, 54), (104, 182, 120), (255, 240, 180)),
    ((54, 24, 92), (190, 92, 196), (255, 214, 90)),
    ((46, 34, 26), (190, 132, 72), (255, 236, 200)),
)
_BUTTONS: dict[Language, tuple[str, ...]] = {
    "zh": ("立即了解", "查看详情", "了解更多"),
    "zh-Hant": ("立即了解", "查看詳情", "了解更多"),
    "en": ("Learn more", "Find out more", "See details"),
}
_BADGES: dict[Language, tuple[str, ...]] = {"zh": ("推荐", "精选"), "zh-Hant": ("推薦", "精選"), "en": ("NEW", "TOP")}
_MOST, _LEAST = 76.0, 30.0
Generator = np.random.Generator


def advert(leaf: Leaf, chance: Generator) -> Image.Image:
    """A poster: the article's title as the brand, the sentence as the slogan, a button and a badge."""
    width, height = _SIZES[int(chance.integers(len(_SIZES)))]
    dark, light, shine = _PALETTES[int(chance.integers(len(_PALETTES)))]
    scene = _SCENES[int(chance.integers(len(_SCENES)))]
    image = _textured(scene(width, height, dark, light, chance), chance)
    edge = round(0.07 * width)
    top = round(height * float(chance.uniform(0.07, 0.12)))
    brand = Type(_fitting(leaf.title, width - 2 * edge - 150, 40.0), "sans bold", shine, 1.5)
    draw_line(image, (edge, top + brand.size), leaf.title, brand)
    slogan, lines = _set(leaf.text, width - 2 * edge, 0.52 * height)
    tall = len(lines) * slogan.leading
    y = top + 1.6 * brand.size + 18
    _panel(image, (0, round(y), width, round(y + tall + 36)), dark)
    _shadowed(image, (edge, y + 18), lines, slogan)
    _button(image, (edge, round(min(y + tall + 66, height - 90))), leaf.language, shine, dark, chance)
    _badge(image, (width - edge - 90, top - 24), leaf.language, shine, dark, chance)
    return image


def _fitting(text: str, width: float, most: float) -> float:
    """The size, up to `most` pixels, at which a line isn't wider than `width`."""
    return min(most, most * width / max(width_of(text, Type(most, "sans bold")), 1.0))


def _set(text: str, width: float, height: float) -> tuple[Type, list[str]]:
    """The slogan in the largest type in which it fits."""
    size = _MOST
    while True:
        kind = Type(size, "sans bold", (255, 255, 255), 1.35)
        lines = break_lines(text, width, kind)
        if len(lines) * kind.leading <= height or size <= _LEAST:
            return kind, lines
        size -= 2


def _hills(width: int, height: int, dark: Colour, light: Colour, chance: Generator) -> Image.Image:
    """A sky over ranges of hills."""
    image = _gradient(width, height, light, dark, 90.0)
    pen, across = ImageDraw.Draw(image), np.arange(0, width + 8, 8)
    for layer in range(4):
        level = height * (0.58 + 0.11 * layer)
        phases = {k: float(chance.uniform(0, 6.3)) for k in (1, 2, 4)}
        waves = [height * 0.05 / k * np.sin(across / width * 2 * np.pi * k * 0.8 + at) for k, at in phases.items()]
        wave = level + np.sum(waves, axis=0)
        shade = tuple(round(part * (0.9 - 0.2 * layer)) for part in dark)
        pen.polygon([(0, height), *zip(across.tolist(), wave.tolist(), strict=True), (width, height)], shade)
    return image


def _lights(width: int, height: int, dark: Colour, light: Colour, chance: Generator) -> Image.Image:
    """Blurred lights in the dark."""
    pixels = np.asarray(_gradient(width, height, dark, light, float(chance.uniform(20, 160))), np.float32)
    for _ in range(26):
        disc = np.zeros((height, width), np.float32)
        centre = (int(chance.integers(width)), int(chance.integers(height)))
        cv2.circle(disc, centre, int(chance.integers(14, width // 9)), 1.0, -1)
        disc = cv2.GaussianBlur(disc, (0, 0), float(chance.uniform(2, 9)))
        pixels = pixels + disc[..., None] * np.array(light, np.float32) * float(chance.uniform(0.15, 0.45))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def _product(width: int, height: int, dark: Colour, light: Colour, chance: Generator) -> Image.Image:
    """A box and a bottle under a spot light at the lower right."""
    across, down = np.meshgrid(np.arange(width), np.arange(height))
    far = np.hypot((across - 0.7 * width) / width, (down - 0.75 * height) / height)
    glow = np.exp(-4 * far**2)[..., None]
    image = Image.fromarray((np.array(dark) * (1 - glow) + np.array(light) * glow).clip(0, 255).astype(np.uint8))
    pen, x, y = ImageDraw.Draw(image), round(width * float(chance.uniform(0.55, 0.66))), round(0.93 * height)
    wide, tall = round(0.16 * width), round(0.22 * height)
    pen.ellipse((x - 20, y - 18, x + 2 * wide + 30, y + 18), tuple(part // 2 for part in dark))
    pen.rectangle((x, y - tall, x + wide, y), tuple(min(255, part + 50) for part in light))
    pen.polygon(
        [(x + wide, y), (x + wide + 36, y - 26), (x + wide + 36, y - tall - 26), (x + wide, y - tall)],
        tuple(part * 3 // 4 for part in light),
    )
    pen.rounded_rectangle((x + wide + 60, y - tall, x + 2 * wide, y), 18, (236, 236, 230))
    pen.rectangle((x + wide + 76, y - tall - 34, x + 2 * wide - 16, y - tall), dark)
    return image


def _stripes(width: int, height: int, dark: Colour, light: Colour, chance: Generator) -> Image.Image:
    """Slanted bands and rays."""
    image = _gradient(width, height, dark, light, float(chance.uniform(20, 70)))
    pen, step = ImageDraw.Draw(image, "RGBA"), int(chance.integers(50, 110))
    for x in range(-height, width, 2 * step):
        pen.polygon([(x, height), (x + step, height), (x + step + height, 0), (x + height, 0)], (255, 255, 255, 20))
    centre = (width * float(chance.uniform(0.7, 1.0)), height * float(chance.uniform(0.75, 1.0)))
    for radius in range(round(0.4 * width), 40, -60):
        box = (centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius)
        pen.ellipse(box, (*light, 46))
    return image


_SCENES: tuple[Callable[[int, int, Colour, Colour, Generator], Image.Image], ...] = (
    _hills,
    _lights,
    _product,
    _stripes,
)


def _gradient(width: int, height: int, start: Colour, end: Colour, degrees: float) -> Image.Image:
    across, down = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    along = across * np.cos(np.radians(degrees)) + down * np.sin(np.radians(degrees))
    along = ((along - along.min()) / (along.max() - along.min()))[..., None]
    return Image.fromarray((np.array(start) * (1 - along) + np.array(end) * along).astype(np.uint8))


def _textured(image: Image.Image, chance: Generator) -> Image.Image:
    """The picture with the clouds and the grain of a photograph."""
    pixels: Any = np.asarray(image, np.float32)
    for cells, strength in ((6, 16.0), (24, 9.0), (90, 5.0)):
        rows = max(2, cells * image.height // image.width)
        coarse = chance.normal(0, 1, (rows, cells)).astype(np.float32)
        pixels = pixels + strength * cv2.resize(coarse, image.size, interpolation=cv2.INTER_CUBIC)[..., None]
    pixels = pixels + chance.normal(0, 3, pixels.shape)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def _panel(image: Image.Image, box: tuple[int, int, int, int], colour: Colour) -> None:
    """A veil behind the slogan, so that it can be read over any picture."""
    ImageDraw.Draw(image, "RGBA").rectangle(box, (*colour, 110))


def _shadowed(image: Image.Image, at: tuple[float, float], lines: list[str], kind: Type) -> None:
    off = max(2.0, kind.size / 24)
    draw_lines(image, (at[0] + off, at[1] + off), lines, Type(kind.size, kind.face, (10, 10, 16), kind.spacing))
    draw_lines(image, at, lines, kind)


def _button(
    image: Image.Image, at: tuple[int, int], language: Language, fill: Colour, ink: Colour, chance: Generator
) -> None:
    text = _BUTTONS[language][int(chance.integers(len(_BUTTONS[language])))]
    kind = Type(26.0, "sans bold", ink)
    box = (at[0], at[1], at[0] + round(width_of(text, kind)) + 56, at[1] + 56)
    ImageDraw.Draw(image).rounded_rectangle(box, 28, fill)
    draw_line(image, (at[0] + 28, at[1] + 37), text, kind)


def _badge(
    image: Image.Image, at: tuple[int, int], language: Language, fill: Colour, ink: Colour, chance: Generator
) -> None:
    text = _BADGES[language][int(chance.integers(len(_BADGES[language])))]
    kind = Type(26.0, "sans bold", ink)
    ImageDraw.Draw(image).ellipse((at[0], at[1], at[0] + 90, at[1] + 90), fill)
    draw_line(image, (at[0] + 45 - width_of(text, kind) / 2, at[1] + 54), text, kind)
