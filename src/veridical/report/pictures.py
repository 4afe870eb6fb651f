"""An image with its scored patches as one inline drawing, so that a page needs no files beside it."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from veridical.core.values import Image, Unit
from veridical.report.style import FOR, hexadecimal, hue, tint

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> PNG colour type
_WIDTH = 240  # pixels on the screen


@dataclass(frozen=True)
class Patch:
    """A rectangle over the image, in its pixels: the tint, the frame with its strength, and the score in words."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    frame: str
    strength: float
    dashed: bool
    told: str


@dataclass(frozen=True)
class Picture:
    """An image of `width` times `height` pixels as base64 of a PNG, and its patches, framed by lines of width `line`.

    `id` is made of the content: where two pictures of a page share it, they are the same.
    """

    width: int
    height: int
    png: str
    id: str
    line: float
    patches: tuple[Patch, ...]


def picture(image: Image, scored: Iterable[tuple[Unit, float, str]], greatest: float) -> Picture | None:
    """What to draw of an image and its units, each with its score and the same in words; None for an empty image."""
    height, width = image.pixels.shape[:2]
    if not image.pixels.size:
        return None
    data, line = png(image), width / _WIDTH * 2.5
    patches = tuple(_patch(unit, score, told, greatest, line) for unit, score, told in scored)
    return Picture(width, height, base64.b64encode(data).decode(), f"vd-{zlib.crc32(data):08x}", line, patches)


def png(image: Image) -> bytes:
    """The image as a PNG. Of an unusual number of channels the first three are shown, or the first."""
    pixels = image.pixels
    if pixels.shape[2] not in _COLOUR_TYPES:
        pixels = pixels[..., :3]
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)  # each line begins with its filter: none
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _patch(unit: Unit, score: float, told: str, greatest: float, line: float) -> Patch:
    top, left, bottom, right = unit.span
    share = abs(score) / greatest if greatest > 0 else 0.0
    return Patch(
        x=left + line / 2,
        y=top + line / 2,
        width=max(0.0, right - left - line),
        height=max(0.0, bottom - top - line),
        fill=tint(score, greatest),
        frame=hexadecimal(hue(score)) if share > 0.05 else "none",  # weak patches stay unframed, or all looks framed
        strength=share,
        dashed=hue(score) != FOR,
        told=told,
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
