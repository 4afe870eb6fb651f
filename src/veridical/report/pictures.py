"""An image with its scored patches as one inline drawing, so that a page needs no files beside it."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from veridical.core.values import Image, Unit
from veridical.report.style import FOR, hexadecimal, hue, tint

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> PNG colour type
_WIDTH = 240  # pixels on the screen
_FRAMED = 0.05  # the share of the greatest score from which a patch gets a frame
_STEPS = 4  # of the scale, on each side of 0
_NAMED = 3  # patches that are named in words


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

    `id` is made of the content: where two pictures of a page share it, they are the same. `scale` are the scores with
    the palest and the deepest colours, from the least, and `told` says it all in words.
    """

    width: int
    height: int
    png: str
    id: str
    line: float
    patches: tuple[Patch, ...]
    scale: tuple[float, ...]
    told: str
    on_screen: int = _WIDTH


def picture(
    image: Image, scored: Sequence[tuple[Unit, float, str]], greatest: float, framed: set[int]
) -> Picture | None:
    """What to draw of an image and its units, each with its score and the same in words; None for an empty image.

    All patches are tinted. Those `framed` get a frame; where there are none, all whose score is not small.
    """
    height, width = image.pixels.shape[:2]
    if not image.pixels.size:
        return None
    data, line = png(image), width / _WIDTH * 2.5
    # Weak patches stay unframed, or all looks framed.
    framed = framed or {at for at, (_, score, _) in enumerate(scored) if abs(score) > _FRAMED * greatest}
    patches = tuple(_patch(*each, greatest, line, at in framed) for at, each in enumerate(scored))
    code, id = base64.b64encode(data).decode(), f"vd-{zlib.crc32(data):08x}"
    return Picture(width, height, code, id, line, patches, _scale(scored, greatest), _told(scored, width, height))


def _scale(scored: Sequence[tuple[Unit, float, str]], greatest: float) -> tuple[float, ...]:
    """Scores to explain the colours by: from the least to the greatest, through 0; of one sign, from 0 on."""
    if greatest <= 0:
        return ()
    signs = {score > 0 for _, score, _ in scored if score}
    steps = range(-_STEPS if False in signs else 0, (_STEPS if True in signs else 0) + 1)
    return tuple(greatest * step / _STEPS for step in steps)


def _told(scored: Sequence[tuple[Unit, float, str]], width: int, height: int) -> str:
    """The picture in words, for those who do not see it."""
    ranked = sorted((each for each in scored if each[1]), key=lambda each: -abs(each[1]))[:_NAMED]
    strongest = ", ".join(f"{patch_name(unit)} {told}" for unit, _, told in ranked) or "none has a score"
    what = f"Image of {width} by {height} pixels"
    patches = f"{len(scored)} patch{'es' * (len(scored) != 1)}"
    return f"{what} with {patches}; the strongest: {strongest}" if scored else what


def patch_name(unit: Unit) -> str:
    """What a unit of an image is called."""
    return unit.text or f"patch {unit.span[0]},{unit.span[1]}"


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


def _patch(unit: Unit, score: float, told: str, greatest: float, line: float, framed: bool) -> Patch:
    top, left, bottom, right = unit.span
    share = abs(score) / greatest if greatest > 0 else 0.0
    inset = line if framed else 0.0  # half of a frame's line lies outside of its rectangle
    return Patch(
        x=left + inset / 2,
        y=top + inset / 2,
        width=max(0.0, right - left - inset),
        height=max(0.0, bottom - top - inset),
        fill=tint(score, greatest),
        frame=hexadecimal(hue(score)) if framed else "none",
        strength=share,
        dashed=hue(score) != FOR,
        told=told,
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
