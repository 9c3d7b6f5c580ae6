"""Files of a study: its rows, and the machine, the versions and the command that they come from."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from core.errors import Refused
from core.evidence.measurement import Measurement
from core.evidence.origin import Origin
from infra import measurement_files
from infra.project_files import COMMITTED_STUDY

FOLDER = Path(".study")
ROWS = "rows"  # below the folder of a study; beside it is the data of an instance that still runs
ORIGIN = "study.json"


def default_study() -> Path:
    """The folder of a study that was made here; else the rows that the project comes with."""
    return FOLDER if (FOLDER / ROWS).exists() else COMMITTED_STUDY


def read_rows(study: Path) -> list[Measurement]:
    """The rows of a study: of its folder, or of a file. Raises Refused if there are none."""
    rows = study / ROWS if study.is_dir() else study
    measurements = measurement_files.read(rows) if rows.exists() else []
    if not measurements:
        raise Refused("there is no study", where=str(study), fix="run `lk study`, or name its folder with --study")
    return measurements


def read_origin(study: Path) -> Origin:
    """The origin of a study: a folder with ORIGIN in it, or a file of rows with a file of the ending ``json`` beside.

    Its texts are "" without such a file. Raises Refused if the file holds something else.
    """
    path = study / ORIGIN if study.is_dir() else study.with_suffix(".json")
    if not path.is_file():
        return Origin()
    try:
        return TypeAdapter(Origin).validate_json(path.read_bytes())
    except ValidationError as error:
        what = f"this is not the origin of a study: {error.errors()[0]['msg']}"
        raise Refused(what, where=str(path), fix="remove it; the report then names no machine") from error


def write_origin(study: Path, origin: Origin) -> None:
    """Writes the origin of a folder of rows."""
    (study / ORIGIN).write_text(json.dumps(asdict(origin), indent=2) + "\n", "utf-8")
