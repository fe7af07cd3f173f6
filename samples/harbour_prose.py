"""The pages of the harbour report that are text."""

from __future__ import annotations

from drawing import GREY, INK, NAVY, PALE, TEAL, Sheet
from harbour_layout import BODY, HEIGHT, LEFT, RIGHT, WIDTH, heading, subheading


def cover(sheet: Sheet) -> None:
    """The front page."""
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


def contents(sheet: Sheet) -> None:
    """The table of contents, and what the figures mean."""
    y = heading(sheet, 84, "Contents")
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
    y = subheading(sheet, (LEFT, y + 24), "About this report")
    sheet.paragraph(
        (LEFT, y),
        "The Trust reports on the calendar year. Money is given in thousands of pounds unless a table says otherwise, "
        "and cargo in thousands of tonnes. Depths are measured at the lowest astronomical tide. Figures for earlier "
        "years stand as they were published, except that quay rents for 2023 now include the fish market.",
        width=BODY,
        size=11.5,
    )


def brief(sheet: Sheet) -> None:
    """Chapter 1, with a bulleted list and key figures."""
    y = heading(sheet, 78, "1  The year in brief")
    y = sheet.paragraph(
        (LEFT, y),
        "Saltmere handled more cargo in 2025 than in any year since the breakwater was extended. The Container Berth "
        "carried most of the growth, while the Old Quay lost timber to the railway. The harbour stayed open on 361 "
        "days; the four lost days all fell in the gales of the second week of November.",
        width=BODY,
        size=11.5,
    )
    y = subheading(sheet, (LEFT, y + 12), "What the Trust set out to do")
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
    y = subheading(sheet, (LEFT, y + 12), "People")
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


def navigation(sheet: Sheet) -> None:
    """Chapter 2, in two columns."""
    top = heading(sheet, 78, "2  Navigation and pilotage")
    width = (BODY - 24) / 2
    right = LEFT + width + 24
    y = subheading(sheet, (LEFT, top), "The approach channel")
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
    y = subheading(sheet, (LEFT, y + 12), "Lights and buoys")
    sheet.paragraph(
        (LEFT, y),
        "All 31 buoys were lifted and painted. Lamps on the inner leading lights were replaced by light-emitting "
        "diodes, which are seen at nine miles instead of six and draw a tenth of the power. The fog signal on the "
        "breakwater was silenced after a year of consultation, because no vessel had relied on it since 2018.",
        width=width,
        size=11,
    )
    y = subheading(sheet, (right, top), "The pilot service")
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
    y = subheading(sheet, (right, y + 12), "Incidents")
    sheet.paragraph(
        (right, y),
        "There were two groundings, both of pleasure craft and both without injury. One coaster touched the knuckle of "
        "the North Quay in a squall on 9 November; the fender was renewed at the owner's expense. No oil was spilled. "
        "The exercise held with the coastguard in June showed that the boom can be laid across the harbour mouth in "
        "47 minutes, against a target of one hour.",
        width=width,
        size=11,
    )


def outlook(sheet: Sheet) -> None:
    """Chapter 6, with a bulleted list."""
    y = heading(sheet, 78, "6  Safety and outlook")
    y = sheet.paragraph(
        (LEFT, y),
        "Five accidents led to an absence of more than three days, against eight in 2024. Three of them happened while "
        "lines were being handled; all mooring gangs now work with a second person on watch.",
        width=BODY,
        size=11.5,
    )
    y = subheading(sheet, (LEFT, y + 12), "Plans for 2026")
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
    y = subheading(sheet, (LEFT, y + 12), "Risks that the board watches")
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
