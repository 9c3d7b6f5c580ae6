"""How a measured number is written: three significant digits, and never rounded to a whole share."""

from __future__ import annotations


def number(value: float, unit: str = "") -> str:
    """The value without its unit. A share has more digits near 1, and below 1 it is never written as 1."""
    if value == round(value) or abs(value) >= 999.5:
        return f"{value:,.0f}"
    if unit.startswith("share") and 0.001 <= value < 1:
        return (f"{min(value, 0.99999):.5f}" if value >= 0.999 else f"{value:.3f}").rstrip("0")
    return f"{value:#.3g}".removesuffix(".")


def trimmed(value: float) -> str:
    """An input, a target or a rounded value: as ``number``, without zeros that claim more digits than it has."""
    text = number(value)
    return text.rstrip("0").removesuffix(".") if "." in text and "e" not in text else text


def mebibytes(size: float) -> str:
    """A size of memory or of a disk, in bytes."""
    return f"{size / 2**20:,.0f} MiB"


def quantity(value: float, unit: str) -> str:
    """The value with its unit; a share needs none."""
    return number(value, unit) if unit.startswith("share") else f"{number(value, unit)} {unit}"
