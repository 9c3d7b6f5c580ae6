"""Writes Python text as ruff's formatter lays it out. Every value becomes a literal; none becomes code."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 120


def python_literal(text: str) -> str:
    """A string literal of one line, in double quotes unless the text has some. What cannot be seen is escaped."""
    if '"' in text:
        return repr(text)
    return '"' + repr("'" + text)[2:]  # the apostrophe makes repr take double quotes


def call(name: str, arguments: Sequence[str], indent: int, *, before: str = "") -> str:
    """``name(arguments)`` on one line if it fits between ``before`` and a comma, else with a line per argument.

    With the name "" it is a tuple.
    """
    inside = ", ".join(arguments) + ("," if not name and len(arguments) == 1 else "")
    line = f"{name}({inside})"
    if indent + len(before) + len(line) + 1 <= WIDTH and "\n" not in line:
        return f"{before}{line}"
    return before + exploded(name, arguments, indent)


def exploded(name: str, arguments: Sequence[str], indent: int) -> str:
    """``name(arguments)`` with a line per argument. An argument that begins with ``#`` is a comment."""
    spaces = " " * (indent + 4)
    lines = [f"{spaces}{argument}{'' if argument.startswith('#') else ','}" for argument in arguments]
    return "\n".join([f"{name}(", *lines, f"{' ' * indent})"])


def comment(text: str, indent: int) -> str:
    """A comment of one line, cut at the width. Text of a sample is only letters, digits and marks here."""
    visible = "".join(character if character.isprintable() else "?" for character in f"# {text}")
    room = WIDTH - indent
    return visible if len(visible) <= room else visible[: room - 1] + "…"


def table(rows: Sequence[Sequence[str]], indent: int) -> str:
    """A triple-quoted literal of aligned rows with ``|`` between cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    spaces = " " * (indent + 4)
    inside = "\n".join(f"{spaces}{line}" for line in lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{inside}\n{" " * indent}"""'
