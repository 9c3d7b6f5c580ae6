"""The types of settings, with their validation."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import NoDecode

Port = Annotated[int, Field(ge=1, le=65535)]
Pair = Annotated[tuple[()] | tuple[Port, Port], NoDecode]
Memory = Annotated[str, Field(pattern=r"^[1-9][0-9]*[mg]$")]


def _expanded(path: Path) -> Path:
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100  resolve() would follow links


LocalPath = Annotated[Path, AfterValidator(_expanded)]


def _location(value: str) -> str:
    """A URI without a trailing slash, or the absolute path of a folder."""
    if re.match(r"[a-z][a-z0-9]+:", value) and not value.startswith("file:"):
        return value.rstrip("/")
    return str(_expanded(Path(re.sub(r"^file:(//)?", "", value))))


def _store(value: str) -> str:
    """S3 locations with the scheme s3a, as in Spark."""
    return re.sub(r"^s3n?://", "s3a://", value)


def _options(value: str) -> str:
    """Shell-quoted options. Raises ValueError when a shell could not split them."""
    return shlex.join(shlex.split(value))


def _receiver(value: str) -> str:
    """A URL with a slash at its end and no login, or the absolute path of a file."""
    if not re.match(r"[a-z][a-z0-9+]*://", value):
        return str(_expanded(Path(value)))
    if not re.fullmatch(r"https?://[^/@\s]+(/[^@\s?#]*)?", value):
        raise ValueError("must be an http or https URL without a login, or a file")
    return value.rstrip("/") + "/"


def _brokers(value: int) -> int:
    if value not in (1, 3):
        raise ValueError("must be 1, or 3 brokers that replicate")
    return value


Brokers = Annotated[int, AfterValidator(_brokers)]
Options = Annotated[str, AfterValidator(_options)]
StoreLocation = Annotated[str, Field(min_length=1), AfterValidator(_location), AfterValidator(_store)]
Receiver = Annotated[str, Field(min_length=1), AfterValidator(_receiver)]
