"""Printed pages, as a scanner and as a hand-held camera see them."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from PIL import Image, ImageDraw

from haystack_pages.paragraphs import Language, Leaf
from haystack_pages.typesetting import Face, Type, break_lines, draw_line, draw_lines, width_of

SCAN_DPI, PHOTO_DPI = 150, 120
NOISE, SCAN_BLUR, ROTATION = 8.0, 0.6, 1.0
PERSPECTIVE, PHOTO_BLUR, SENSOR_NOISE = 0.03, 1.0, 2.5
# A4, in inches.
_WIDTH, _HEIGHT = 8.27, 11.69
_LEAST = 0.36
Generator = np.random.Generator


def scan(leaf: Leaf, chance: Generator) -> Image.Image:
    """A page from a flatbed: grey, a little askew, soft and noisy."""
    page = _printed(leaf, SCAN_DPI, chance).convert("L")
    paper = float(np.asarray(page)[0, 0])
    pixels = np.asarray(page, np.float32)
    height, width = pixels.shape
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), float(chance.uniform(-ROTATION, ROTATION)), 1.0)
    turned = cv2.warpAffine(
        pixels, turn, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=paper
    )
    soft = cv2.GaussianBlur(turned, (0, 0), SCAN_BLUR)
    return _image(soft + chance.normal(0, NOISE, soft.shape))


def photo(leaf: Leaf, chance: Generator) -> Image.Image:
    """A sheet on a desk, taken from a slant under a lamp: perspective, uneven light, soft, dark around the paper."""
    sheet = np.asarray(_printed(leaf, PHOTO_DPI, chance), np.float32)
    height, width = sheet.shape[:2]
    edge = round(0.05 * width)
    size = (width + 2 * edge, height + 2 * edge)
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
    moved = corners + edge + chance.uniform(-PERSPECTIVE, PERSPECTIVE, (4, 2)).astype(np.float32) * min(width, height)
    warp = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    paper = cv2.warpPerspective(sheet, warp, size, flags=cv2.INTER_LINEAR)
    cover = cv2.warpPerspective(np.ones((height, width), np.float32), warp, size, flags=cv2.INTER_LINEAR)[..., None]
    shadow = cv2.GaussianBlur(np.roll(cover[..., 0], (edge // 5, edge // 6), (0, 1)), (0, 0), edge / 5)[..., None]
    desk = _desk(size, chance) * (1 - 0.55 * shadow)
    lit = (paper * cover + desk * (1 - cover)) * _light(size, chance)[..., None]
    tint = np.array([1.0, float(chance.uniform(0.95, 0.99)), float(chance.uniform(0.86, 0.96))], np.float32)
    soft = cv2.GaussianBlur((lit * tint).astype(np.float32), (0, 0), PHOTO_BLUR)
    return _image(soft + chance.normal(0, SENSOR_NOISE, soft.shape))


def _printed(leaf: Leaf, dpi: int, chance: Generator) -> Image.Image:
    """A clean sheet with a running head, a heading, the paragraph and a page number, cut to the height that it needs.

    Type gets smaller, down to 8.5 points, until the page is no higher than A4; after that it is higher.
    """
    latin = leaf.language == "en"
    width, margin = round(_WIDTH * dpi), round(float(chance.uniform(0.9, 1.15)) * dpi)
    face: Face = "serif" if latin or chance.random() < 0.5 else "sans"
    ink, paper = int(chance.integers(18, 56)), int(chance.integers(238, 252))
    number, points = int(chance.integers(2, 320)), float(chance.choice([9.5, 10.5, 11.0, 12.0]))
    while True:
        body = Type(points * dpi / 72, face, (ink, ink, ink + 2), 1.45 if latin else 1.75)
        indent = 2 * body.size
        lines = break_lines(leaf.text, width - 2 * margin, body, indent)
        heading = Type(1.4 * body.size, "serif bold" if face == "serif" else "sans bold", body.colour, 1.5)
        titles = break_lines(leaf.title, width - 2 * margin, heading)
        needed = 2.1 * dpi + len(titles) * heading.leading + 0.6 * body.size + len(lines) * body.leading
        if needed <= _HEIGHT * dpi or points <= 8.5:
            break
        points -= 0.5
    image = Image.new("RGB", (width, round(max(needed, _LEAST * _HEIGHT * dpi))), (paper, paper, paper - 4))
    _head_and_foot(image, leaf.language, margin, number, body)
    y = draw_lines(image, (margin, 1.0 * dpi), titles, heading)
    draw_lines(image, (margin, y + 0.6 * body.size), lines, body, indent)
    return image


def _head_and_foot(image: Image.Image, language: Language, margin: int, number: int, body: Type) -> None:
    """The rule with a running head at the top, and the page number at the bottom."""
    small = Type(0.72 * body.size, body.face, body.colour)
    head = {"zh": "资料选编", "zh-Hant": "資料選編", "en": "Selected Readings"}[language]
    draw_line(image, (margin, 0.62 * margin), head, small)
    y = round(0.72 * margin)
    ImageDraw.Draw(image).line((margin, y, image.width - margin, y), body.colour, 2)
    label = f"{number}" if language == "en" else f"· {number} ·"
    draw_line(image, ((image.width - width_of(label, small)) / 2, image.height - 0.4 * margin), label, small)


def _desk(size: tuple[int, int], chance: Generator) -> Any:
    """A dark table top with grain along its length."""
    width, height = size
    base = np.array([(78, 56, 40), (52, 54, 60), (62, 66, 58)][int(chance.integers(3))], np.float32)
    grain = chance.normal(0, 1, (height, max(2, width // 40))).astype(np.float32)
    grain = cv2.GaussianBlur(cv2.resize(grain, (width, height), interpolation=cv2.INTER_CUBIC), (0, 0), 1.5)
    return base * (1 + 0.16 * grain[..., None])


def _light(size: tuple[int, int], chance: Generator) -> Any:
    """Brightness by place: falls off away from the lamp, and towards the corners of the lens."""
    width, height = size
    across, down = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    angle = float(chance.uniform(0, 2 * np.pi))
    slope = float(chance.uniform(0.12, 0.24)) * (across * np.cos(angle) + down * np.sin(angle))
    lens = float(chance.uniform(0.06, 0.14)) * (across**2 + down**2)
    return (0.92 - slope - lens).clip(0.3, 1.08).astype(np.float32)


def _image(pixels: Any) -> Image.Image:
    return Image.fromarray(np.rint(pixels.clip(0, 255)).astype(np.uint8))
