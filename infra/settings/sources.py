"""Reads settings from a TOML file and the environment; errors name the source."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import EnvSettingsSource

from core.errors import Usage
from infra.settings import PREFIX, Settings


def read_settings(config: Path | None = None) -> Settings:
    """Settings from the file (``config``, else LK_CONFIG, else ./lk.toml) and the environment, which has priority.

    Raises Usage listing every invalid setting with its source.
    """
    path = _file(config)
    values = _read(path) if path else {}
    fields = EnvSettingsSource(Settings)()
    try:
        return Settings(**{**values, **fields}).of_file(_named(path))
    except ValidationError as e:
        sources = {key: str(path) for key in values} | {key: PREFIX + key.upper() for key in fields}
        raise _invalid(e.errors(), sources) from None


def _file(config: Path | None) -> Path | None:
    path = config or (Path(os.environ["LK_CONFIG"]) if os.environ.get("LK_CONFIG") else None)
    if path is None:
        return Path("lk.toml") if Path("lk.toml").is_file() else None
    if not path.is_file():
        raise Usage("the settings file does not exist", where=str(path), fix="correct --config or LK_CONFIG")
    return path


def _named(path: Path | None) -> Path | None:
    return path.absolute() if path and path.resolve() != Path("lk.toml").resolve() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as e:
        raise Usage(f"the settings file cannot be read: {e}", where=str(path), fix="correct the TOML") from None


def _invalid(errors: list[ErrorDetails], sources: Mapping[str, str]) -> Usage:
    lines = [_line(error, sources) for error in errors]
    what = f"{len(lines)} setting{'s are' if len(lines) > 1 else ' is'} invalid:\n  " + "\n  ".join(lines)
    return Usage(what, fix="correct them; the environment (LK_NAME) overrides the file")


def _line(error: ErrorDetails, sources: Mapping[str, str]) -> str:
    name = str(error["loc"][0]) if error["loc"] else ""
    source = sources.get(name, "default")
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, Settings.model_fields, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"{name}: unknown setting ({source}){hint}"
    text = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return text
    return f"{name} = {error['input']!r}: {text} ({source})"
