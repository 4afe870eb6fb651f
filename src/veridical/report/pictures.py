"""An image with its scored patches as one inline SVG, so that a page needs no files beside it."""

from __future__ import annotations

import base64
import struct
import zlib

from veridical.core.example import Image, Unit
from veridical.report.colours import FOR, hexadecimal, hue, tint

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> PNG colour type
_WIDTH = 240


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


def picture(image: Image, scored: list[tuple[Unit, float, str]], greatest: float) -> str:
    """The image as it is, and beside it in grey with each patch tinted by its score; what is told shows on hover."""
    height, width = image.pixels.shape[:2]
    if not height or not width:
        return "<em>empty image</em>"
    data = png(image)
    name = f"vd-{zlib.crc32(data):08x}"  # made of the content: where two pictures share it, they are the same
    both = width * 2.05
    patches = "".join(_patch(*each, greatest, width) for each in scored)
    return (
        f'<svg viewBox="0 0 {both:.2f} {height}" width="{_WIDTH * 2.05:.0f}" role="img" '
        f'style="display:block;max-width:100%;height:auto"><image id="{name}" width="{width}" height="{height}" '
        f'href="data:image/png;base64,{base64.b64encode(data).decode()}" style="image-rendering:pixelated"/>'
        # Grey and pale, since orange and blue tints would drown in the picture's own colours.
        f'<g transform="translate({both - width:.2f})"><use href="#{name}" style="filter:grayscale(1) opacity(.55)"/>'
        f"{patches}</g></svg>"
    )


def _patch(unit: Unit, score: float, told: str, greatest: float, width: int) -> str:
    top, left, bottom, right = unit.span
    line = width / _WIDTH * 2.5
    share = abs(score) / greatest if greatest > 0 else 0.0
    frame = hexadecimal(hue(score)) if share > 0.05 else "none"  # weak patches stay unframed, or all looks framed
    dashes = "" if hue(score) == FOR else f' stroke-dasharray="{line * 2:.2f}"'
    return (
        f'<rect x="{left + line / 2:.2f}" y="{top + line / 2:.2f}" width="{max(0.0, right - left - line):.2f}" '
        f'height="{max(0.0, bottom - top - line):.2f}" fill="{tint(score, greatest)}" stroke="{frame}" '
        f'stroke-opacity="{share:.2f}" stroke-width="{line:.2f}"{dashes}><title>{told}</title></rect>'
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
