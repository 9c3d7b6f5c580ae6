"""Definitions in which Spark has found no mistake: a repeated `lk views check` asks Spark only about what has changed.

A definition is unchanged if all that its check depends on is: itself, the definitions that it reads, its example, the
settings of Spark and this program.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from core.catalog import Catalog
from core.identifiers import Name
from core.topic import Topic
from core.view import Total, View
from infra.definitions.definition_files import definition_key
from infra.definitions.definition_problem import Definition
from infra.definitions.sql_problems import Key
from infra.private_files import write_private
from infra.project_files import ROOT
from infra.runtime import pyspark_files
from infra.settings import Settings

_FILE = "checked-definitions.json"
_PROGRAM = ("core", "infra")
_KINDS = ("*.py", "*.scala", "*.lock")
_DIGESTS = TypeAdapter(list[str])


def digests(settings: Settings, catalog: Catalog) -> dict[Key, str]:
    """The sha256 of all that Spark's check of each definition depends on."""
    of_program = _program_digest(settings)
    definitions = [*catalog.topics.values(), *catalog.views.values(), *catalog.routes.values()]
    return {
        definition_key(definition): _sha256([of_program, *map(repr, _needed(definition, catalog))])
        for definition in definitions
    }


def read_passed(settings: Settings) -> frozenset[str]:
    """The digests of the definitions that passed an earlier check; none if their file is missing or damaged."""
    with contextlib.suppress(OSError, ValueError):
        return frozenset(_DIGESTS.validate_json(_path(settings).read_bytes()))
    return frozenset()


def write_passed(settings: Settings, passed: Collection[str]) -> None:
    """Replaces the digests of the check before. A failure is left to the next check, which asks Spark again."""
    with contextlib.suppress(OSError):
        write_private(_path(settings), json.dumps(sorted(passed)))


def _needed(definition: Definition, catalog: Catalog) -> Iterable[object]:
    """The definition and what its check reads."""
    if isinstance(definition, Topic):
        return [_without_generator(definition)]
    topics = [_without_generator(catalog.topics[Name(source)]) for source in sorted(definition.sources)]
    if not isinstance(definition, View):
        return [definition, *topics]
    others = [catalog.views[Name(check.other)] for check in definition.checks if isinstance(check, Total)]
    return [definition, *topics, *others, catalog.examples.get(Name(definition.name))]


def _without_generator(topic: Topic) -> Topic:
    """Spark asks for no generated record, and a function is another one in each process."""
    return replace(topic, generator=None)


def _program_digest(settings: Settings) -> str:
    files = sorted(file for folder in _PROGRAM for kind in _KINDS for file in (ROOT / folder).rglob(kind))
    conf = repr(sorted(settings.spark_conf.items()))
    texts = [pyspark_files.version(), settings.decoder, settings.spark_master, conf]
    return _sha256([*texts, *(file.read_text("utf-8") for file in files)])


def _sha256(texts: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()


def _path(settings: Settings) -> Path:
    return settings.run_dir / _FILE
