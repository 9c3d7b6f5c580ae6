"""Java properties files, which configure the servers and Spark's log."""

from __future__ import annotations

from collections.abc import Mapping

_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})


def properties(values: Mapping[str, object]) -> str:
    """The text of a properties file. It is ASCII: Java reads the bytes of such a file as Latin-1."""
    return "".join(f"{key}={_ascii(str(value).translate(_ESCAPED))}\n" for key, value in values.items())


def _ascii(text: str) -> str:
    """The text with each UTF-16 unit beyond ASCII as ``\\uXXXX``."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return "".join(chr(unit) if unit < 0x80 else f"\\u{unit:04x}" for unit in units)
