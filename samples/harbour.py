"""The English sample: an annual report with front matter, columns, tables and charts. Text and figures are invented."""

from __future__ import annotations

import io

import harbour_figures as figures
import pymupdf
from drawing import GREY, INK, NAVY, PALE, TEAL, Sheet
from PIL import Image

WIDTH, HEIGHT = 595.0, 842.0
LEFT, RIGHT = 64.0, 531.0
BODY = RIGHT - LEFT
ROMAN = ("i", "ii")


def build() -> tuple[bytes, dict[str, tuple[int, pymupdf.Rect]]]:
    """The PDF and, by name, the (1-based page, box in points) of what the sample questions ask for."""
    document = pymupdf.open()
    regions: dict[str, tuple[int, pymupdf.Rect]] = {}
    pages = (_cover, _contents, _brief, _navigation, _finances, _berths, _energy, _outlook)
    for number, write in enumerate(pages, 1):
        sheet = Sheet(document.new_page(width=WIDTH, height=HEIGHT))
        write(sheet)
        if number > 1:
            _furniture(sheet, ROMAN[number - 1] if number <= len(ROMAN) else str(number - len(ROMAN)))
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


def _furniture(sheet: Sheet, label: str) -> None:
    sheet.text((LEFT, 42), "Port of Saltmere", size=8, colour=GREY)
    sheet.text((RIGHT, 42), "Harbour Report 2025", size=8, colour=GREY, align="right")
    sheet.rule(48, LEFT, RIGHT, colour=(0.75, 0.79, 0.82), width=0.5)
    sheet.text((WIDTH / 2, 808), label, size=9, colour=GREY, align="centre")


def _heading(sheet: Sheet, y: float, text: str) -> float:
    sheet.text((LEFT, y + 20), text, size=20, face="hebo", colour=NAVY)
    sheet.rule(y + 29, LEFT, LEFT + 48, colour=TEAL, width=2)
    return y + 44


def _subheading(sheet: Sheet, at: tuple[float, float], text: str) -> float:
    sheet.text((at[0], at[1] + 11), text, size=11.5, face="hebo", colour=NAVY)
    return at[1] + 18


def _cover(sheet: Sheet) -> None:
    page = sheet.page
    page.draw_rect((0, 0, WIDTH, 520), color=None, fill=NAVY)
    for i, shade in enumerate((0.17, 0.24, 0.32, 0.42)):
        y = 430 + 26 * i
        shape = page.new_shape()
        shape.draw_bezier((-10, y), (150, y - 70 + 18 * i), (330, y + 70 - 10 * i), (605, y - 25))
        shape.draw_polyline([(605, y - 25), (605, 560), (-10, 560), (-10, y)])
        shape.finish(color=None, fill=(shade * 0.45, shade + 0.12, shade + 0.2))
        shape.commit()
    page.draw_rect((-5, 520, WIDTH + 15, HEIGHT + 5), color=None, fill=(1, 1, 1))
    sheet.text((LEFT, 190), "Harbour Report", size=42, face="hebo", colour=(1, 1, 1))
    sheet.text((LEFT, 244), "2025", size=42, face="hebo", colour=(0.55, 0.83, 0.84))
    sheet.text((LEFT, 284), "Port of Saltmere", size=17, colour=(0.86, 0.91, 0.94))
    sheet.text((LEFT, 580), "Report and accounts for the year ended 31 December 2025", size=12, colour=INK)
    sheet.text((LEFT, 602), "Laid before the Saltmere Harbour Trust on 2 March 2026", size=10, colour=GREY)
    sheet.text((LEFT, 780), "Saltmere Harbour Trust, Custom House, Saltmere", size=9, colour=GREY)


def _contents(sheet: Sheet) -> None:
    y = _heading(sheet, 84, "Contents")
    for title, label in (
        ("1  The year in brief", "1"),
        ("2  Navigation and pilotage", "2"),
        ("3  Finances", "3"),
        ("4  Traffic by berth", "4"),
        ("5  Energy and shore power", "5"),
        ("6  Safety and outlook", "6"),
    ):
        entry = sheet.text((LEFT, y + 14), title, size=11, face="tiro")
        dots = "." * int((RIGHT - 20 - entry.box.x1) / 4.2)
        sheet.text((RIGHT - 16, y + 14), dots, size=9, colour=GREY, align="right")
        sheet.text((RIGHT, y + 14), label, size=11, face="tiro", align="right")
        y += 24
    y = _subheading(sheet, (LEFT, y + 24), "About this report")
    sheet.paragraph(
        (LEFT, y),
        "The Trust reports on the calendar year. Money is given in thousands of pounds unless a table says otherwise, "
        "and cargo in thousands of tonnes. Depths are measured at the lowest astronomical tide. Figures for earlier "
        "years stand as they were published, except that quay rents for 2023 now include the fish market.",
        width=BODY,
        size=11.5,
    )


def _brief(sheet: Sheet) -> None:
    y = _heading(sheet, 78, "1  The year in brief")
    y = sheet.paragraph(
        (LEFT, y),
        "Saltmere handled more cargo in 2025 than in any year since the breakwater was extended. The Container Berth "
        "carried most of the growth, while the Old Quay lost timber to the railway. The harbour stayed open on 361 "
        "days; the four lost days all fell in the gales of the second week of November.",
        width=BODY,
        size=11.5,
    )
    y = _subheading(sheet, (LEFT, y + 12), "What the Trust set out to do")
    y = sheet.bullets(
        (LEFT, y),
        [
            "Deepen the approach channel to 11.8 metres before the autumn tides. Done in September, three weeks late.",
            "Bring shore power to every commercial berth. Done at four berths of five; the Tanker Jetty in 2027.",
            "Replace the signal station on Gull Point. Postponed, because both tenders exceeded the estimate.",
            "Train six new pilots. Done; all six were licensed by the end of June.",
        ],
        width=BODY,
        size=11.5,
    )
    y = _subheading(sheet, (LEFT, y + 12), "People")
    sheet.paragraph(
        (LEFT, y),
        "The Trust employed 214 people at the end of the year, nine more than a year before. Captain Rhys Penhallow "
        "continued as harbour master. The board met eleven times and published the minutes of every meeting.",
        width=BODY,
        size=11.5,
    )
    sheet.page.draw_rect((LEFT, 610, RIGHT, 712), color=None, fill=PALE)
    for i, (figure, label) in enumerate(
        (("3,824", "thousand tonnes of cargo"), ("3,010", "vessel calls"), ("361", "days open"))
    ):
        x = LEFT + BODY * (i + 0.5) / 3
        sheet.text((x, 662), figure, size=27, face="hebo", colour=TEAL, align="centre")
        sheet.text((x, 684), label, size=9, colour=GREY, align="centre")


def _navigation(sheet: Sheet) -> None:
    top = _heading(sheet, 78, "2  Navigation and pilotage")
    width = (BODY - 24) / 2
    right = LEFT + width + 24
    y = _subheading(sheet, (LEFT, top), "The approach channel")
    y = sheet.paragraph(
        (LEFT, y),
        "Dredging began on 12 May with the trailing suction dredger Marram and ended on 23 September. The contractor "
        "removed 640,000 cubic metres of sand and soft clay. Clean sand went to the beach at Whinsand, where it "
        "restored some 400 metres of foreshore; the clay was taken to the licensed ground off Gull Point.",
        width=width,
        size=11,
    )
    y = sheet.paragraph(
        (LEFT, y + 7),
        "A survey in October found the channel at its planned depth over its whole length, save for a bar near buoy 7 "
        "that lies 0.3 metres too high. Mariners have been told, and the contractor returns in April at its own cost.",
        width=width,
        size=11,
    )
    y = _subheading(sheet, (LEFT, y + 12), "Lights and buoys")
    sheet.paragraph(
        (LEFT, y),
        "All 31 buoys were lifted and painted. Lamps on the inner leading lights were replaced by light-emitting "
        "diodes, which are seen at nine miles instead of six and draw a tenth of the power. The fog signal on the "
        "breakwater was silenced after a year of consultation, because no vessel had relied on it since 2018.",
        width=width,
        size=11,
    )
    y = _subheading(sheet, (right, top), "The pilot service")
    y = sheet.paragraph(
        (right, y),
        "Pilots boarded 2,274 vessels, of which 38 were taken in by night under the new rules for deep ships. "
        "Ingrid Aldous has been chief pilot since March, when Tomas Reeve retired after 29 years in the service. "
        "The mean wait for a pilot fell from 52 minutes to 34.",
        width=width,
        size=11,
        marks={"chief_pilot": "Ingrid Aldous has been chief pilot"},
    )
    y = sheet.paragraph(
        (right, y + 7),
        "The cutter Petrel was sold, and her successor Sandpiper entered service in July. She burns a third less fuel "
        "and can board a pilot in seas of three metres.",
        width=width,
        size=11,
    )
    y = _subheading(sheet, (right, y + 12), "Incidents")
    sheet.paragraph(
        (right, y),
        "There were two groundings, both of pleasure craft and both without injury. One coaster touched the knuckle of "
        "the North Quay in a squall on 9 November; the fender was renewed at the owner's expense. No oil was spilled. "
        "The exercise held with the coastguard in June showed that the boom can be laid across the harbour mouth in "
        "47 minutes, against a target of one hour.",
        width=width,
        size=11,
    )


def _table(sheet: Sheet, top: float, rows: list[tuple[str, ...]], *, columns: list[float], bold: set[int]) -> float:
    """Draw rows whose first cell is flush left and whose other cells end at `columns`; names regions "row/label"."""
    y = top
    for i, row in enumerate(rows):
        face = "hebo" if i in bold else "helv"
        if i % 2:
            sheet.page.draw_rect((LEFT, y, RIGHT, y + 20), color=None, fill=PALE)
        box = sheet.text((LEFT + 6, y + 14), row[0], size=9.5, face=face).box
        for x, cell in zip(columns, row[1:], strict=True):
            box |= sheet.text((x, y + 14), cell, size=9.5, face=face, align="right").box
        sheet.regions[f"row/{row[0]}"] = box
        y += 20
        if i in bold:
            sheet.rule(y, LEFT, RIGHT, width=0.6)
    return y


def _finances(sheet: Sheet) -> None:
    y = _heading(sheet, 78, "3  Finances")
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
    y = _table(sheet, y + 22, figures.INCOME, columns=columns, bold={4, 9, 10})
    y = sheet.paragraph(
        (LEFT, y + 10),
        "Depreciation is charged over 50 years for quays and 15 years for plant. Dredging is charged in the year in "
        "which the work is done.",
        width=BODY,
        size=9,
        face="tiit",
        colour=GREY,
    )
    y = _subheading(sheet, (LEFT, y + 16), "Charges for 2026")
    sheet.paragraph(
        (LEFT, y),
        "Port dues rise by 2.5 per cent on 1 April. Pilotage charges stay as they are. Fishing boats under twelve "
        "metres, which paid a flat fee of 180 pounds, will pay nothing.",
        width=BODY,
        size=11.5,
    )


def _berths(sheet: Sheet) -> None:
    y = _heading(sheet, 78, "4  Traffic by berth")
    sheet.text((LEFT, y + 12), "Table 2.  Berths, and the traffic of 2025", size=9.5, face="hebo")
    y += 22
    columns = [RIGHT - 290, RIGHT - 206, RIGHT - 106, RIGHT - 6]
    sheet.page.draw_rect((LEFT, y, RIGHT, y + 36), color=None, fill=NAVY)
    white = (1.0, 1.0, 1.0)
    sheet.text((LEFT + 6, y + 28), "Berth", size=9.5, face="hebo", colour=white)
    for x, header in zip(columns, figures.BERTH_HEADERS, strict=True):
        for i, part in enumerate(header):
            sheet.text((x, y + 15 + 13 * i), part, size=9.5, face="hebo", colour=white, align="right")
    y = _table(sheet, y + 36, figures.BERTHS, columns=columns, bold={5})
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
    y = _heading(sheet, 78, "5  Energy and shore power")
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


def _outlook(sheet: Sheet) -> None:
    y = _heading(sheet, 78, "6  Safety and outlook")
    y = sheet.paragraph(
        (LEFT, y),
        "Five accidents led to an absence of more than three days, against eight in 2024. Three of them happened while "
        "lines were being handled; all mooring gangs now work with a second person on watch.",
        width=BODY,
        size=11.5,
    )
    y = _subheading(sheet, (LEFT, y + 12), "Plans for 2026")
    y = sheet.bullets(
        (LEFT, y),
        [
            "Rebuild the fender line of the North Quay between April and August, at a cost of 1.9 million pounds.",
            "Invite tenders for the signal station again, in a simpler design without the visitor gallery.",
            "Open a second gate for lorries, so that queues leave the coast road.",
            "Survey the Old Quay, whose oldest piles were driven in 1887, and decide on its future use.",
        ],
        width=BODY,
        size=11.5,
    )
    y = _subheading(sheet, (LEFT, y + 12), "Risks that the board watches")
    y = sheet.paragraph(
        (LEFT, y),
        "One line carries 61 per cent of the containers, and its contract ends in June 2027. The breakwater needs new "
        "armour stone within ten years. Sea level at the Custom House gauge has risen by 41 millimetres since 2010, "
        "and the quays built before 1930 flood at the highest tides.",
        width=BODY,
        size=11.5,
    )
    sheet.rule(y + 30, LEFT, LEFT + 160, colour=GREY, width=0.5)
    sheet.text((LEFT, y + 46), "Margaret Oduya, chair of the Saltmere Harbour Trust", size=10, face="tiit")
