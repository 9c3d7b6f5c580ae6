"""Where the Data Docs of each build are."""

from __future__ import annotations

import re
from pathlib import Path

from core.identifiers import Name
from infra.lake import files
from infra.settings import Settings


def folder(settings: Settings) -> Path:
    """The folder of the Data Docs of all builds."""
    return settings.data / "quality"


def index_of(settings: Settings, build: Name) -> Path:
    """The index of a build's Data Docs."""
    return folder(settings) / build / "index.html"


def builds_with_pages(settings: Settings) -> list[Name]:
    """The builds that have Data Docs on this machine, sorted; a folder of another name is not ours."""
    names = files.folders(str(folder(settings)))
    return [Name(name) for name in names if re.fullmatch(r"b\d{6,}", name)]
