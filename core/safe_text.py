"""Makes text of records safe for a terminal, for JSON files that people open, and for a spreadsheet."""

from __future__ import annotations

import json
import re

# Control characters of ASCII and of Latin-1 (escape sequences begin with them), marks that change the direction of
# text, line separators, invisible marks and tags, and halves of surrogate pairs, which no terminal can print.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e01ef]"
)
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
# A spreadsheet computes what begins with one of these.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are wide


def one_line(text: str) -> str:
    """Text for one line of a terminal: what could control it is escaped, as ``\\n``, ``\\x1b`` or ``\\u202e``."""
    return _UNSAFE.sub(_escaped, text)


def several_lines(text: str) -> str:
    """Text for some lines of a terminal: line ends and tabs stay, what else could control it is escaped."""
    return _UNSAFE.sub(lambda match: match[0] if match[0] in "\n\t" else _escaped(match), text)


def json_line(value: object) -> str:
    """A value as one line of JSON for a file that people open: text stays readable, the same characters are escaped."""
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], json.dumps(value, ensure_ascii=False))


def spreadsheet_cell(text: str) -> str:
    """Text that a spreadsheet shows as it is: an apostrophe before what it would compute."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def shortened(text: str, longest: int) -> str:
    """The text; of a longer one its first ``longest`` characters and an ellipsis."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if match[0] in _SHORT:
        return _SHORT[match[0]]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
