"""The Chinese scan: a library's notice, printed, sealed and scanned slightly askew. Places and figures are invented."""

from __future__ import annotations

import io
import math

import numpy as np
import pymupdf
from drawing import INK, Drawn, Sheet, lines_of, wrap
from PIL import Image, ImageFilter

WIDTH, HEIGHT = 595.0, 842.0
LEFT, RIGHT = 84.0, 511.0
DPI = 150
TILT = 0.9
"""Degrees, counter-clockwise, by which the sheet lay askew on the scanner."""
PARAGRAPHS = (
    "为做好暑期读者服务工作，经馆务会议研究决定，现将有关事项通知如下。",
    "一、开放时间。自2025年7月1日起至8月31日止，总馆开放时间调整为上午8:30至晚上9:00，每周一闭馆，各分馆开放时间不变。",
    "二、阅览室改造。二楼少儿阅览室自7月14日起封闭改造，工期45天，改造经费共计38.6万元，由市财政拨付。改造期间，"
    "少儿图书移至一楼西厅借阅。",
    "三、暑期活动。各项活动安排见下表，均不收费，请读者提前三天到服务台登记。",
)
ACTIVITIES = (
    ("活动名称", "日期", "地点", "名额"),
    ("古籍修复体验", "7月12日", "三楼修复室", "20人"),
    ("少儿科普讲座", "7月19日", "一楼报告厅", "150人"),
    ("亲子诵读会", "8月2日", "城北分馆", "40人"),
    ("围棋公开赛", "8月16日", "一楼大厅", "64人"),
)
CLOSING = "四、失物招领。今年上半年读者遗失的物品共存放87件，请失主于7月底前持有效证件到保卫室认领。"
MARKS = {"closing_day": "每周一闭馆", "budget": "经费共计38.6万元"}


def build() -> tuple[bytes, dict[str, tuple[int, pymupdf.Rect]]]:
    """The PDF of one scanned page and, by name, the (1-based page, box in points) of what the questions ask for."""
    sheet = _print()
    _seal(sheet, (420, 664))
    scan = _scanned(sheet.page.get_pixmap(dpi=DPI, alpha=False))
    stored = io.BytesIO()
    scan.save(stored, "JPEG", quality=62, dpi=(DPI, DPI))
    document = pymupdf.open()
    page = document.new_page(width=WIDTH, height=HEIGHT)
    page.insert_image(page.rect, stream=stored.getvalue(), keep_proportion=False)
    document.set_metadata(
        {"producer": "ScanStation", "creationDate": "D:20250618103000Z", "modDate": "D:20250618103000Z"}
    )
    regions = {name: (1, _tilted(box)) for name, box in sheet.regions.items()}
    return document.tobytes(garbage=4, no_new_id=True), regions


def _print() -> Sheet:
    """The page as it came from the printer, on a document of its own."""
    sheet = Sheet(pymupdf.open().new_page(width=WIDTH, height=HEIGHT))
    red = (0.78, 0.12, 0.12)
    sheet.text((WIDTH / 2, 92), "云岚市图书馆文件", size=27, face="cjk", colour=red, align="centre")
    sheet.text((WIDTH / 2, 122), "云图发〔2025〕14号", size=11.5, face="cjk", align="centre")
    sheet.rule(134, LEFT, RIGHT, colour=red, width=1.6)
    sheet.text((WIDTH / 2, 174), "关于暑期开放时间和少儿阅览室改造的通知", size=17, face="cjk", align="centre")
    sheet.text((LEFT, 208), "各分馆、各位读者：", size=12, face="cjk")
    y = 218.0
    for text in PARAGRAPHS:
        y = _indented(sheet, y, text)
    y = _activities(sheet, y + 8)
    _indented(sheet, y + 8, CLOSING)
    sheet.text((RIGHT - 10, 668), "云岚市图书馆", size=12, face="cjk", align="right")
    sheet.regions["issued"] = sheet.text((RIGHT, 692), "2025年6月18日", size=12, face="cjk", align="right").box
    sheet.rule(726, LEFT, RIGHT, colour=INK, width=0.6)
    sheet.text((LEFT + 4, 742), "抄送：市文化和旅游局，各区图书馆", size=10, face="cjk")
    sheet.text((WIDTH / 2, 796), "- 1 -", size=10, face="cjk", align="centre")
    return sheet


def _indented(sheet: Sheet, y: float, text: str) -> float:
    """Write a paragraph whose first line is set in by two characters; returns the y below it."""
    drawn: list[Drawn] = []
    for i, line in enumerate(wrap("\u3000\u3000" + text, width=RIGHT - LEFT, size=12, face="cjk")):
        inset = 24 if i == 0 else 0
        drawn.append(sheet.text((LEFT + inset, y + 15), line.lstrip("\u3000"), size=12, face="cjk"))
        y += 20.5
    for name, phrase in MARKS.items():
        if phrase in text:
            sheet.regions[name] = lines_of(drawn, phrase)
    return y


def _activities(sheet: Sheet, top: float) -> float:
    """Draw the table with its rules; names regions "row/activity"; returns the y below it."""
    edges = [LEFT, LEFT + 140, LEFT + 230, LEFT + 345, RIGHT]
    height = 23.0
    for i, row in enumerate(ACTIVITIES):
        y = top + height * i
        box = pymupdf.Rect()
        for left, right, cell in zip(edges, edges[1:], row, strict=False):
            box |= sheet.text(((left + right) / 2, y + 16), cell, size=11, face="cjk", align="centre").box
        sheet.regions[f"row/{row[0]}"] = box
    bottom = top + height * len(ACTIVITIES)
    for i in range(len(ACTIVITIES) + 1):
        sheet.rule(top + height * i, LEFT, RIGHT, colour=INK, width=0.7)
    for x in edges:
        sheet.page.draw_line((x, top), (x, bottom), color=INK, width=0.7)
    return bottom


def _seal(sheet: Sheet, centre: tuple[float, float]) -> None:
    """Stamp the library's round red seal over the date."""
    red = (0.82, 0.16, 0.14)
    sheet.page.draw_circle(centre, 52, color=red, width=2.4, stroke_opacity=0.75)
    star = [
        (centre[0] + r * math.sin(math.pi * k / 5), centre[1] - r * math.cos(math.pi * k / 5))
        for k in range(10)
        for r in ((15 if k % 2 == 0 else 6),)
    ]
    sheet.page.draw_polyline([*star, star[0]], color=None, fill=red, fill_opacity=0.75)
    name = "云岚市图书馆"
    for i, character in enumerate(name):
        angle = math.radians(-100 + 200 * i / (len(name) - 1))
        at = pymupdf.Point(centre[0] + 38 * math.sin(angle), centre[1] - 38 * math.cos(angle))
        writer = pymupdf.TextWriter(sheet.page.rect, opacity=0.75)
        writer.append((at.x - 6.5, at.y + 5), character, font=pymupdf.Font("cjk"), fontsize=13)
        writer.write_text(sheet.page, color=red, morph=(at, pymupdf.Matrix(-math.degrees(angle))))


def _scanned(pixels: pymupdf.Pixmap) -> Image.Image:
    """Make a print look scanned: askew, a little soft, unevenly lit, grainy."""
    image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
    image = image.rotate(TILT, resample=Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))
    image = image.filter(ImageFilter.GaussianBlur(0.55))
    values = np.asarray(image, dtype=np.float32)
    height, width = values.shape[:2]
    light = 247 - 9 * np.linspace(0, 1, width)[None, :] ** 2 - 5 * np.linspace(1, 0, height)[:, None] ** 3
    values = 22 + (values / 255) * (light - 22)[..., None]
    values += np.random.default_rng(14).normal(0, 3.2, (height, width, 1)).astype(np.float32)
    values[:, -5:] *= np.linspace(0.95, 0.72, 5)[None, :, None]
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def _tilted(box: pymupdf.Rect) -> pymupdf.Rect:
    """Where a box of the print lies on the scan: the frame around its turned corners."""
    turn = math.radians(TILT)
    cx, cy = WIDTH / 2, HEIGHT / 2
    corners = [
        (
            cx + (x - cx) * math.cos(turn) + (y - cy) * math.sin(turn),
            cy - (x - cx) * math.sin(turn) + (y - cy) * math.cos(turn),
        )
        for x in (box.x0, box.x1)
        for y in (box.y0, box.y1)
    ]
    xs, ys = zip(*corners, strict=True)
    return pymupdf.Rect(min(xs), min(ys), max(xs), max(ys))
