"""The key store: for each person a pseudonym and a key. It is an SQLite file that only producers and `lk erase` need.

A key is on the disk before a record is encrypted with it. A destroyed key is overwritten (``secure_delete``), and only
the pseudonym stays, so that no one can tell who the person was.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from core.errors import LkError, Refused, TryAgain
from core.sealed_text import KEY_BYTES
from infra.settings import Settings

_TABLES = """
CREATE TABLE IF NOT EXISTS persons (person TEXT PRIMARY KEY, pseudonym TEXT NOT NULL UNIQUE, key BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS erased (pseudonym TEXT PRIMARY KEY, at TEXT NOT NULL);
"""
_AT_ONCE = 500  # parameters of a statement
_PATIENCE = 30.0  # seconds, while another process writes


@dataclass(frozen=True)
class PersonKey:
    """A person's pseudonym, and the key of core/sealed_text.py."""

    pseudonym: str
    key: bytes


def keys_of(settings: Settings, persons: Collection[str]) -> dict[str, PersonKey]:
    """The key of each person; a person without one gets it. They are on the disk when this returns.

    Raises Refused when the store is damaged or cannot be written, TryAgain while another process writes.
    """
    with _opened(settings) as store:
        keys = _select(store, persons)
        new = sorted(set(persons) - keys.keys())
        if new:
            rows = [(person, f"s{secrets.token_hex(16)}", secrets.token_bytes(KEY_BYTES)) for person in new]
            with store:  # of two processes that add a person, the first one counts
                store.executemany("INSERT OR IGNORE INTO persons VALUES (?, ?, ?)", rows)
            keys |= _select(store, new)
    return keys


def keys_by_pseudonym(settings: Settings, pseudonyms: Collection[str]) -> dict[str, bytes]:
    """Pseudonym -> key, of those that have one."""
    keys: dict[str, bytes] = {}
    with _existing(settings) as store:
        for portion in _portions(pseudonyms):
            marks = ", ".join("?" * len(portion))
            sql = f"SELECT pseudonym, key FROM persons WHERE pseudonym IN ({marks})"  # noqa: S608 - only marks
            keys |= dict(store.execute(sql, portion)) if store else {}
    return keys


def pseudonym_of(settings: Settings, person: str) -> str | None:
    """The pseudonym of a person who has a key."""
    with _existing(settings) as store:
        row = store.execute("SELECT pseudonym FROM persons WHERE person = ?", (person,)).fetchone() if store else None
    return row[0] if row else None


def destroy(settings: Settings, pseudonyms: Collection[str]) -> None:
    """Destroys keys, and notes that they were; those that are destroyed already stay so."""
    now = datetime.now(UTC).isoformat()
    with _opened(settings) as store:
        with store:
            store.executemany("DELETE FROM persons WHERE pseudonym = ?", [(pseudonym,) for pseudonym in pseudonyms])
            rows = [(pseudonym, now) for pseudonym in pseudonyms]
            store.executemany("INSERT OR IGNORE INTO erased VALUES (?, ?)", rows)
        _overwrite_journal(settings.person_keys_file, store)


def destroyed(settings: Settings) -> frozenset[str]:
    """The pseudonyms whose keys were destroyed; none without a store."""
    with _existing(settings) as store:
        return frozenset(row[0] for row in store.execute("SELECT pseudonym FROM erased")) if store else frozenset()


def _overwrite_journal(path: Path, store: sqlite3.Connection) -> None:
    """Zeros in place of the pages, as they were before, that SQLite has copied into its journal."""
    journal = path.with_name(f"{path.name}-journal")
    store.execute("BEGIN EXCLUSIVE")  # nobody writes; SQLite opens its journal with the first page that it changes
    try:
        with journal.open("r+b") as file:
            file.write(bytes(journal.stat().st_size))
            file.flush()
            os.fsync(file.fileno())
    except FileNotFoundError:
        pass
    finally:
        store.execute("ROLLBACK")


def _select(store: sqlite3.Connection, persons: Collection[str]) -> dict[str, PersonKey]:
    keys: dict[str, PersonKey] = {}
    for portion in _portions(persons):
        marks = ", ".join("?" * len(portion))
        sql = f"SELECT person, pseudonym, key FROM persons WHERE person IN ({marks})"  # noqa: S608 - only marks
        keys |= {person: PersonKey(pseudonym, key) for person, pseudonym, key in store.execute(sql, portion)}
    return keys


def _portions(texts: Collection[str]) -> Iterator[tuple[str, ...]]:
    """The different texts, a statement's parameters at a time."""
    remaining = iter(sorted(set(texts)))
    while portion := tuple(islice(remaining, _AT_ONCE)):
        yield portion


@contextlib.contextmanager
def _existing(settings: Settings) -> Iterator[sqlite3.Connection | None]:
    """The store; None if there is none."""
    if not settings.person_keys_file.exists():
        yield None
        return
    with _opened(settings) as store:
        yield store


@contextlib.contextmanager
def _opened(settings: Settings) -> Iterator[sqlite3.Connection]:
    """The store, which is created if missing, readable by its owner alone."""
    path = settings.person_keys_file
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.chmod(0o600)
        with contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE)) as store:
            # The journal stays a file, so that what is in it can be overwritten.
            for setting in ("journal_mode = PERSIST", "secure_delete = ON", "synchronous = FULL"):
                store.execute(f"PRAGMA {setting}")
            store.executescript(_TABLES)
            yield store
    except (sqlite3.Error, OSError) as e:
        raise _unusable(path, e) from None


def _unusable(path: Path, reason: sqlite3.Error | OSError) -> LkError:
    code = getattr(reason, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return TryAgain("another process writes keys", where=str(path), fix="run the command again")
    is_damaged = primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    restore = "restore it from a backup, then run `lk erase --again`: without it no sealed field can be read or written"
    fix = restore if is_damaged else "check the free space, and who may read and write it"
    return Refused(f"the key store cannot be used: {reason}", where=str(path), fix=fix)
