"""What Graphviz leaves out of a PDF: a title of the document, and letters in place of ligatures, so that ``first`` is found by who looks for it.

The pages are not touched: changed objects are appended, as an incremental update (ISO 32000-1, 7.5.6).
"""

from __future__ import annotations

import re
import unicodedata
import zlib

from tapetrace.render.scene import Scene

_STREAM = re.compile(rb"(\d+) 0 obj\s*<<[^>]*/FlateDecode[^>]*>>\s*stream\r?\n(.*?)\s*endstream", re.DOTALL)
_LIGATURE = re.compile(rb"<(fb0[0-6])>(?=\s*\n)", re.IGNORECASE)
_TRAILER = re.compile(rb"trailer\s*<<(.*?)>>\s*startxref\s+(\d+)\s+%%EOF\s*$", re.DOTALL)


def finish_pdf(pdf: bytes, scene: Scene) -> bytes:
    """The PDF with its title and searchable text; unchanged if its index is compressed, as newer versions of cairo do."""
    trailer = _TRAILER.search(pdf)
    size, info = (re.search(pattern, trailer[1]) if trailer else None for pattern in (rb"/Size (\d+)", rb"/Info (\d+) 0 R"))
    if trailer is None or size is None:
        return pdf
    objects = {int(number): _stream(text) for number, text in _spelled(pdf).items()}
    described = re.search(rb"(?:^|\n)%b 0 obj\s*<<(.*?)>>\s*endobj" % info[1], pdf, re.DOTALL) if info else None
    if info is not None and described is not None and b"/Title" not in described[1]:
        title = f"tapetrace {scene.title}".encode("utf-16-be", "replace").hex().encode()
        objects[int(info[1])] = b"<<%b/Title <feff%b>\n>>" % (described[1], title)
    return _appended(pdf, objects, trailer) if objects else pdf


def _spelled(pdf: bytes) -> dict[bytes, bytes]:
    """By the number of its object each table of characters that names ligatures, with their letters instead."""
    found = {}
    for number, packed in _STREAM.findall(pdf):
        try:
            text = zlib.decompress(packed)
        except zlib.error:
            continue
        if b"begincmap" in text and _LIGATURE.search(text):
            found[number] = _LIGATURE.sub(lambda m: b"<%b>" % _letters(m[1]), text)
    return found


def _letters(code: bytes) -> bytes:
    return unicodedata.normalize("NFKC", chr(int(code, 16))).encode("utf-16-be").hex().encode()


def _stream(text: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%b\nendstream" % (len(text), text)


def _appended(pdf: bytes, objects: dict[int, bytes], trailer: re.Match[bytes]) -> bytes:
    table = [b"0 1\n0000000000 65535 f \n"]
    for number, body in sorted(objects.items()):
        table.append(b"%d 1\n%010d 00000 n \n" % (number, len(pdf)))
        pdf += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    index = b"xref\n" + b"".join(table)
    return pdf + b"%btrailer\n<<%b   /Prev %b\n>>\nstartxref\n%d\n%%%%EOF\n" % (index, trailer[1], trailer[2], len(pdf))
