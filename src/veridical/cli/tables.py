"""Tables on a terminal that never break a name: where a table is too wide, each row becomes a block of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_GAP = 2


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    numbers: Collection[int] = (),
    indent: int = 0,
) -> None:
    """Print rows below their headings. The columns `numbers` stand to the right; a short row has empty cells.

    Where the first column and the longest words of all others do not fit beside each other, each row is a block: its
    first cell, and below it a line for each of the others, with its heading.
    """
    cells = [_row(row, len(headings)) for row in rows]
    columns = [[Text(heading), *column] for heading, column in zip(headings, zip(*cells, strict=True), strict=True)]
    widths = _widths(columns, console.width - indent)
    if widths is None:
        for row in cells:
            _print_block(console, headings, row, indent)
    else:
        console.print(Padding(_grid(headings, cells, widths, numbers), (0, 0, 0, indent), expand=False))


def _row(row: Sequence[str | Text], length: int) -> list[Text]:
    texts = [Text(cell) if isinstance(cell, str) else cell for cell in row]
    return texts + [Text()] * (length - len(texts))


def _widths(columns: Sequence[Sequence[Text]], room: int) -> list[int] | None:
    """How wide each column is so that no word is broken, or None where there is no room for that.

    The first column, which names the rows, is left whole. Every other one has its longest word; what room is left is
    shared out by how much more each could use.
    """
    wanted = [max(cell.cell_len for cell in column) for column in columns]
    least = [wanted[0], *(max(_longest_word(cell) for cell in column) for column in columns[1:])]
    free = room - sum(least) - _GAP * (len(columns) - 1)
    if free < 0:
        return None
    lacking = sum(wanted) - sum(least)
    share = min(1.0, free / lacking) if lacking else 0.0
    return [low + int(share * (most - low)) for low, most in zip(least, wanted, strict=True)]


def _longest_word(cell: Text) -> int:
    return max((Text(word).cell_len for word in cell.plain.split()), default=0)


def _grid(
    headings: Sequence[str], rows: Sequence[Sequence[Text]], widths: list[int], numbers: Collection[int]
) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0), show_header=any(headings))
    for index, (heading, width) in enumerate(zip(headings, widths, strict=True)):
        grid.add_column(heading, justify="right" if index in numbers else "left", width=width)
    for row in rows:
        grid.add_row(*row)
    return grid


def _print_block(console: Console, headings: Sequence[str], row: Sequence[Text], indent: int) -> None:
    # Lines are left whole: a terminal breaks one that is too long, and a pipe does not.
    console.print(Text.assemble(" " * indent, row[0]), soft_wrap=True)
    width = max(map(len, headings[1:]), default=0)
    for heading, cell in zip(headings[1:], row[1:], strict=True):
        if cell.plain:
            console.print(Text.assemble(" " * (indent + 4), f"{heading:{width}}  ", cell), soft_wrap=True)
