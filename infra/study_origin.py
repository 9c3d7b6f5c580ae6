"""The origin of a study, a JSON file beside its measurements."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from core.errors import Refused
from core.evidence.origin import Origin


def path_of(study: Path) -> Path:
    """The file: ``origin.json`` in the folder of a study, or the study's file with the ending ``json``."""
    return study / "origin.json" if study.is_dir() else study.with_suffix(".json")


def read(study: Path) -> Origin:
    """The origin of a study, without texts if it has no such file. Raises Refused if the file holds something else."""
    path = path_of(study)
    if not path.is_file():
        return Origin()
    try:
        return TypeAdapter(Origin).validate_json(path.read_bytes())
    except ValidationError as error:
        raise Refused(
            "this is not the origin of a study", where=str(path), fix="remove it, or run `lk study`"
        ) from error


def write(study: Path, origin: Origin) -> None:
    """Writes the file, whole or not at all."""
    path = path_of(study)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(asdict(origin), indent=2) + "\n", "utf-8")
    part.replace(path)
