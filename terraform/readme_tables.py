"""Writes the tables of inputs and outputs into the READMEs of terraform/; `--check` only lists outdated ones.

Needs python-hcl2, which comes with checkov: `.venv-cloud/bin/python terraform/readme_tables.py`, or `make cloud-docs`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import hcl2

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- tables: written by terraform/readme_tables.py -->", "<!-- /tables -->"


def blocks(folder: Path, kind: str) -> list[tuple[str, dict[str, object]]]:
    """(name, attributes) of every variable or output of a folder, by name."""
    entries = []
    for file in sorted(folder.glob("*.tf")):
        for block in hcl2.loads(file.read_text("utf-8")).get(kind, []):
            entries.extend(block.items())
    return sorted(entries)


def value(attributes: dict[str, object]) -> str:
    """The default as text."""
    if "default" not in attributes:
        return "(required)"
    return f"`{json.dumps(_only(attributes['default']))}`"


def tables(folder: Path) -> str:
    """The text between the two marks."""
    lines = ["", "| input | what | type | default |", "|---|---|---|---|"]
    for name, variable in blocks(folder, "variable"):
        kind = str(_only(variable["type"])).strip("${}")
        lines.append(f"| `{name}` | {_cell(variable['description'])} | {kind} | {value(variable)} |")
    lines += ["", "| output | what |", "|---|---|"]
    lines += [f"| `{name}` | {_cell(output['description'])} |" for name, output in blocks(folder, "output")]
    return "\n".join([*lines, "", ""])


def current(readme: Path) -> str:
    """The text of a README with current tables."""
    text = readme.read_text("utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{tables(readme.parent)}{END}{rest.split(END)[1]}"


def _only(value: object) -> object:
    """hcl2 returns every attribute as a list of one item."""
    return value[0] if isinstance(value, list) else value


def _cell(text: object) -> str:
    return str(_only(text)).replace("|", "\\|")


if __name__ == "__main__":
    outdated = False
    for readme in [HERE / "README.md", *sorted(HERE.glob("modules/*/README.md"))]:
        text = current(readme)
        if text != readme.read_text("utf-8"):
            outdated = True
            print(f"{readme.relative_to(HERE)}: the tables are not current; `make cloud-docs` writes them")
            if "--check" not in sys.argv:
                readme.write_text(text, "utf-8")
    sys.exit(outdated and "--check" in sys.argv)
