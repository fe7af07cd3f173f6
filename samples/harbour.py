"""The English sample: an annual report with front matter, columns, tables and charts. Text and figures are invented."""

from __future__ import annotations

import io

import harbour_figures as figures
import harbour_prose as prose
import pymupdf
from drawing import GREY, NAVY, Sheet
from harbour_layout import BODY, HEIGHT, LEFT, RIGHT, WIDTH, furniture, heading, subheading
from PIL import Image

ROMAN = ("i", "ii")


def build() -> tuple[bytes, dict[str, tuple[int, pymupdf.Rect]]]:
    """The PDF and, by name, the (1-based page, box in points) of what the sample questions ask for."""
    document = pymupdf.open()
    regions: dict[str, tuple[int, pymupdf.Rect]] = {}
    pages = (
        prose.cover,
        prose.contents,
        prose.brief,
        prose.navigation,
        _finances,
        _berths,
        _energy,
        prose.outlook,
    )
    for number, write in enumerate(pages, 1):
        sheet = Sheet(document.new_page(width=WIDTH, height=HEIGHT))
        write(sheet)
        if number > 1:
            furniture(sheet, ROMAN[number - 1] if number <= len(ROMAN) else str(number - len(ROMAN)))
        regions |= {name: (number, box) for name, box in sheet.regions.items()}
    document.set_page_labels(
        [
            {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 1},
            {"startpage": len(ROMAN), "prefix": "", "style": "D", "firstpagenum": 1},
        ]
    )
    document.set_metadata(
        {
            "title": "Port of Saltmere: Harbour Report 2025",
            "author": "Saltmere Harbour Trust",
            "creationDate": "D:20260302090000Z",
            "modDate": "D:20260302090000Z",
        }
    )
    return document.tobytes(garbage=4, deflate=True, no_new_id=True), regions


def _finances(sheet: Sheet) -> None:
    y = heading(sheet, 78, "3  Finances")
    y = sheet.paragraph(
        (LEFT, y),
        "Revenue rose by 10.9 per cent. Port dues brought most of it, and shore power almost doubled. The surplus is "
        "slightly lower than in the year before, because the channel was dredged; without the dredging contract it "
        "would have been the highest on record. The Trust has no debt.",
        width=BODY,
        size=11.5,
    )
    sheet.text((LEFT, y + 24), "Table 1.  Income and expenditure, in thousands of pounds", size=9.5, face="hebo")
    y += 34
    columns = [RIGHT - 170, RIGHT - 88, RIGHT - 6]
    sheet.page.draw_rect((LEFT, y, RIGHT, y + 22), color=None, fill=NAVY)
    for x, year in zip(columns, ("2023", "2024", "2025"), strict=True):
        sheet.text((x, y + 15), year, size=9.5, face="hebo", colour=(1, 1, 1), align="right")
    sheet.text((LEFT + 6, y + 15), "Year ended 31 December", size=9.5, face="hebo", colour=(1, 1, 1))
    y = figures.table(sheet, y + 22, figures.INCOME, columns=columns, bold={4, 9, 10})
    y = sheet.paragraph(
        (LEFT, y + 10),
        "Depreciation is charged over 50 years for quays and 15 years for plant. Dredging is charged in the year in "
        "which the work is done.",
        width=BODY,
        size=9,
        face="tiit",
        colour=GREY,
    )
    y = subheading(sheet, (LEFT, y + 16), "Charges for 2026")
    sheet.paragraph(
        (LEFT, y),
        "Port dues rise by 2.5 per cent on 1 April. Pilotage charges stay as they are. Fishing boats under twelve "
        "metres, which paid a flat fee of 180 pounds, will pay nothing.",
        width=BODY,
        size=11.5,
    )


def _berths(sheet: Sheet) -> None:
    y = heading(sheet, 78, "4  Traffic by berth")
    sheet.text((LEFT, y + 12), "Table 2.  Berths, and the traffic of 2025", size=9.5, face="hebo")
    y += 22
    columns = [RIGHT - 290, RIGHT - 206, RIGHT - 106, RIGHT - 6]
    sheet.page.draw_rect((LEFT, y, RIGHT, y + 36), color=None, fill=NAVY)
    white = (1.0, 1.0, 1.0)
    sheet.text((LEFT + 6, y + 28), "Berth", size=9.5, face="hebo", colour=white)
    for x, header in zip(columns, figures.BERTH_HEADERS, strict=True):
        for i, part in enumerate(header):
            sheet.text((x, y + 15 + 13 * i), part, size=9.5, face="hebo", colour=white, align="right")
    y = figures.table(sheet, y + 36, figures.BERTHS, columns=columns, bold={5})
    y = sheet.paragraph(
        (LEFT, y + 14),
        "The Container Berth handled 46 per cent of all cargo with 12 per cent of the calls. Ferries make nearly half "
        "of the calls but carry little freight. The Tanker Jetty took its deepest ship so far, drawing 11.6 metres, "
        "on the spring tide of 8 October.",
        width=BODY,
        size=11.5,
    )
    figures.cargo_chart(sheet, pymupdf.Rect(LEFT, y + 14, RIGHT, y + 270))
    sheet.text((LEFT, y + 288), "Figure 1.  Cargo handled in each year, in thousands of tonnes", size=9.5, face="hebo")


def _energy(sheet: Sheet) -> None:
    y = heading(sheet, 78, "5  Energy and shore power")
    y = sheet.paragraph(
        (LEFT, y),
        "A ship that lies at a berth with shore power stops her engines. Connections were opened at the North Quay in "
        "February and at the Ferry Terminal in May, so that demand grew through the summer. Figure 2 shows what was "
        "delivered in each quarter. Ferries take the power by an automatic arm within four minutes of mooring; cargo "
        "ships still use a cable that is carried aboard by hand.",
        width=BODY,
        size=11.5,
    )
    frame = pymupdf.Rect(LEFT, y + 14, RIGHT, y + 14 + BODY * 0.62)
    picture = figures.shore_power_chart()
    small = pymupdf.Matrix(frame.width / picture.page.rect.width, frame.height / picture.page.rect.height)
    for name, box in picture.regions.items():
        sheet.regions[name] = box * small + (frame.x0, frame.y0, frame.x0, frame.y0)
    pixels = picture.page.get_pixmap(dpi=110, alpha=False)
    stored = io.BytesIO()
    Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples).save(stored, "JPEG", quality=82)
    sheet.page.insert_image(frame, stream=stored.getvalue(), keep_proportion=False)
    y = frame.y1
    sheet.text((LEFT, y + 18), "Figure 2.  Shore power delivered by quarter in 2025", size=9.5, face="hebo")
    sheet.paragraph(
        (LEFT, y + 34),
        "The Trust buys its electricity from the wind farm on Harrow Bank under a contract that runs until 2031. The "
        "harbour's own use, for cranes, lighting and the cold store, fell by 6 per cent after the cold store was "
        "insulated anew.",
        width=BODY,
        size=11.5,
    )
