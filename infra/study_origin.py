"""The origin of a study, from the file that `lk study` writes beside its rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from core.errors import Refused
from core.evidence.origin import Origin

NAME = "study.json"


def read(study: Path) -> Origin:
    """The origin of a study: a folder with NAME in it, or a file of rows with a file of the ending ``json`` beside.

    Its texts are "" without such a file. Raises Refused if the file holds something else.
    """
    path = study / NAME if study.is_dir() else study.with_suffix(".json")
    if not path.is_file():
        return Origin()
    try:
        return TypeAdapter(Origin).validate_json(path.read_bytes())
    except ValidationError as error:
        what = f"this is not the origin of a study: {error.errors()[0]['msg']}"
        raise Refused(what, where=str(path), fix="remove it; the report then names no machine") from error


def write(study: Path, origin: Origin) -> None:
    """Writes the origin of a folder of rows."""
    (study / NAME).write_text(json.dumps(asdict(origin), indent=2) + "\n", "utf-8")
