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
    first cell, and below it a line for each of the others, with its heading. A table of numbers is first tried with
    the options of each name below it.
    """
    whole = [_row(row, len(headings)) for row in rows]
    layouts = [whole, [[_options_below(row[0]), *row[1:]] for row in whole]] if numbers else [whole]
    for cells in layouts:
        columns = [[Text(heading), *(row[index] for row in cells)] for index, heading in enumerate(headings)]
        if widths := _widths(columns, console.width - indent):
            grid = _grid(headings, cells, widths, numbers)
            console.print(Padding(grid, (0, 0, 0, indent), expand=False))
            return
    for row in whole:
        _print_block(console, headings, row, indent)


def _row(row: Sequence[str | Text], length: int) -> list[Text]:
    texts = [Text(cell) if isinstance(cell, str) else cell for cell in row]
    return texts + [Text()] * (length - len(texts))


def _options_below(name: Text) -> Text:
    """`lime(samples=50)` on two lines."""
    at = name.plain.find("(")
    return name if at < 0 else Text.assemble(name[:at], "\n    ", name[at:])


def _widths(columns: Sequence[Sequence[Text]], room: int) -> list[int] | None:
    """How wide each column is so that no word is broken, or None where there is no room for that.

    The first column, which names the rows, is left whole. Every other one has its longest word; what room is left is
    shared out by how much more each could use.
    """
    wanted = [
        max(line.cell_len for cell in column for line in cell.split("\n", allow_blank=True)) for column in columns
    ]
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
