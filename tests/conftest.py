"""What all tests share: no network, and small documents that are made on the spot.

Fixtures:
- `make_pdf(name, pages, labels=None)`: a digital PDF from strings, one a page; lines break at newlines.
- `make_scan(name, pages, dpi=110)`: the same pages as images only, so that they need OCR.
- `english_pdf`, `chinese_pdf`: two ready digital files.
- `samples`: the folder of the sample documents.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pymupdf
import pytest

MakePdf = Callable[..., Path]
ENGLISH = (
    "Orchard survey\n\nThe orchard at Linden Hill holds 312 apple trees.\nThey were planted in 1996 by Edith Marlow.",
    "Yields\n\nThe harvest of 2024 came to 18.4 tonnes.\nIn 2023 it came to 15.9 tonnes.",
    "Water\n\nTwo wells supply the orchard.\nThe deeper one reaches 43 metres.",
)
CHINESE = (
    "果园调查报告\n\n林丘果园共有苹果树三百一十二棵。\n果园建于1996年，由马立德主持种植。",
    "产量\n\n2024年收获苹果18.4吨。\n2023年收获苹果15.9吨。",
)


class NetworkUsedError(RuntimeError):
    """A test tried to leave this machine."""


def _local(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True
    host = str(address[0]).split("%")[0]
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _guarded(original: Callable[..., Any], place: int) -> Callable[..., Any]:
    def guard(*arguments: Any, **keywords: Any) -> Any:
        address = arguments[place]
        if not _local(address if place else (address or "",)):
            raise NetworkUsedError(f"a test tried to reach {address!r}: tests may use loopback and unix sockets only")
        return original(*arguments, **keywords)

    return guard


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse connections and name look-ups that leave this machine; child processes get a proxy that isn't there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _guarded(socket.socket.connect, 1))
        patch.setattr(socket.socket, "connect_ex", _guarded(socket.socket.connect_ex, 1))
        patch.setattr(socket, "getaddrinfo", _guarded(socket.getaddrinfo, 0))
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            patch.setenv(name, "http://127.0.0.1:9")
        yield


@pytest.fixture
def make_pdf(tmp_path: Path) -> MakePdf:
    """Makes a digital PDF in the test's folder: `make_pdf(name, pages, labels=None)`; returns its path."""

    def make(name: str, pages: Sequence[str], labels: list[dict[str, Any]] | None = None) -> Path:
        path = tmp_path / name
        path.write_bytes(_pdf(pages, labels))
        return path

    return make


@pytest.fixture
def make_scan(tmp_path: Path) -> MakePdf:
    """Makes a PDF of page images without a text layer: `make_scan(name, pages, dpi=110)`; returns its path."""

    def make(name: str, pages: Sequence[str], dpi: int = 110) -> Path:
        scan = pymupdf.open()
        with pymupdf.open(stream=_pdf(pages), filetype="pdf") as printed:
            for page in printed:
                target = scan.new_page(width=page.rect.width, height=page.rect.height)
                target.insert_image(target.rect, stream=page.get_pixmap(dpi=dpi).tobytes("jpeg"))
        path = tmp_path / name
        path.write_bytes(scan.tobytes())
        return path

    return make


@pytest.fixture
def english_pdf(make_pdf: MakePdf) -> Path:
    """Three English pages about an orchard."""
    return make_pdf("orchard.pdf", ENGLISH)


@pytest.fixture
def chinese_pdf(make_pdf: MakePdf) -> Path:
    """Two pages about the same orchard in simplified Chinese."""
    return make_pdf("guoyuan.pdf", CHINESE)


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of the sample documents."""
    return Path(__file__).parent.parent / "samples"


def _pdf(pages: Sequence[str], labels: list[dict[str, Any]] | None = None) -> bytes:
    """A4 pages in 12 point; text beyond Latin-1 is set in PyMuPDF's CJK font."""
    document = pymupdf.open()
    for text in pages:
        page = document.new_page()
        font = "helv" if text.isascii() else "china-s"
        for row, line in enumerate(text.split("\n")):
            if line:
                page.insert_text((72, 90 + 18 * row), line, fontname=font, fontsize=12)
    if labels:
        document.set_page_labels(labels)
    return document.tobytes(no_new_id=True)
