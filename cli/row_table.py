"""Prints rows that differ, one side below the other, with the differing cells between stars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cli.output import line, table
from core.compute.row_pairs import Row, differing_columns


@dataclass(frozen=True)
class Side:
    """The row of one side, such as "build"; None where it has none. ``count`` is how many rows of the key it has."""

    name: str
    row: Row | None
    count: int = 1

    @property
    def label(self) -> str:
        """The side, and what is special about its row."""
        if self.row is None:
            return f"{self.name}: no row"
        return self.name if self.count == 1 else f"{self.name}: {self.count} rows"


def print_differing_rows(title: str, key: Sequence[str], pairs: Sequence[tuple[Side, Side]]) -> None:
    """Two lines for each pair: the side, the key columns, the other columns; hidden columns only where they differ."""
    marked = {name for left, right in pairs for name in differing_columns(left.row, right.row)}
    names = dict.fromkeys(name for pair in pairs for side in pair for name in side.row or ())
    others = [name for name in names if name not in key and (name in marked or not name.startswith("_"))]
    line(f"{title}: cells that differ are between *stars*")
    table(
        "",
        ["side", *key, *others],
        [cells for pair in pairs for cells in _lines(pair, [*key, *others], key)],
    )


def _lines(pair: tuple[Side, Side], columns: Sequence[str], key: Sequence[str]) -> Iterator[list[str]]:
    left, right = pair
    differing = differing_columns(left.row, right.row)
    for side, other in ((left, right), (right, left)):
        if side.row is None:
            yield [side.label, *(_text((other.row or {}).get(name)) if name in key else "" for name in columns)]
        else:
            texts = {name: _text(side.row.get(name)) for name in columns}
            yield [side.label, *(f"*{texts[name]}*" if name in differing else texts[name] for name in columns)]


def _text(value: object) -> str:
    if value is None:
        return "null"
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
