"""How a measured number is written: three significant digits, and never rounded to a whole share."""

from __future__ import annotations


def number(value: float, unit: str = "") -> str:
    """The value without its unit. A share below 1 is never written as 1."""
    if value == round(value) or abs(value) >= 1_000:
        return f"{value:,.0f}"
    if unit.startswith("share"):
        return f"{min(value, 0.99999):.5f}".rstrip("0") if 0.00001 <= value < 1 else f"{value:.2g}"
    return f"{value:#.3g}".removesuffix(".")


def quantity(value: float, unit: str) -> str:
    """The value with its unit; a share needs none."""
    return number(value, unit) if unit.startswith("share") else f"{number(value, unit)} {unit}"
