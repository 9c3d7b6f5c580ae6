"""Erases a person: the key is destroyed, then what is served is computed again without the person's records.

1. Write the erasure, which names a pseudonym.
2. Destroy the key: from here on nobody can read the person's fields, in the log, in any table or in a backup of them.
3. Rebuild: the erasure has changed the decoders of topics with sealed fields, and this introduces them as any change.

Each step can be repeated. After a crash, and after a restore of the lake or of the key store, the next call finishes
what is recorded in either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.sealed_topic import ERASED_RULE, subject_field
from infra.control import erasures, locks, run_roles
from infra.control.erasures import Erasure
from infra.definitions import definition_files
from infra.lake import table_paths
from infra.lake.process_identity import current_user
from infra.personal import key_store
from infra.settings import Settings
from serving import recover
from serving.publish import changed_since, in_kappa
from speed.quarantine import listing


@dataclass(frozen=True)
class ErasedPerson:
    """``pseudonym`` is None if nothing was known about the person. ``left_out``: topic -> records of erased persons.

    ``publication`` is the one without them; None if nothing served had to change.
    """

    pseudonym: str | None
    left_out: Mapping[Name, int]
    publication: int | None


def erase(settings: Settings, person: str | None, why: str) -> ErasedPerson:
    """Erases a person, and whoever is recorded as erased; None: only those. It waits until readers see the result.

    Raises Refused, before anything is destroyed, if no topic has sealed fields or the key store is not here.
    """
    if not _sealed_topics(definition_files.load(settings)):
        fix = "declare fields with a subject (docs/erasure.md)"
        raise Refused("no topic has sealed fields, so no person can be erased", fix=fix)
    if not settings.person_keys_file.exists():
        where, fix = str(settings.person_keys_file), "run it where records are encrypted, or set person_keys"
        raise Refused("there is no key store here", where=where, fix=fix)
    pseudonym = destroy_keys(settings, person, why)
    catalog = definition_files.load(settings)
    publication = _rebuild(settings, catalog)
    left_out = {topic: listing.count_of(settings, catalog, topic, ERASED_RULE) for topic in _sealed_topics(catalog)}
    return ErasedPerson(pseudonym, left_out, publication)


def unfinished(settings: Settings) -> tuple[str, ...]:
    """What is wrong if lake and key store do not agree on who was erased: one of them was restored."""
    if not settings.person_keys_file.exists():
        return ()
    recorded, destroyed = erasures.erased_pseudonyms(settings), key_store.destroyed(settings)
    fix = "`lk erase` without a person erases them again"
    problems = []
    if destroyed - recorded:
        problems.append(f"{len(destroyed - recorded)} erased persons are unknown to the lake, as if restored: {fix}")
    if recorded - destroyed:
        problems.append(f"the key store has, or had, keys of {len(recorded - destroyed)} erased persons: {fix}")
    return tuple(problems)


def destroy_keys(settings: Settings, person: str | None, why: str) -> str | None:
    """The pseudonym of the person; the key of everybody who is recorded as erased is destroyed."""
    table_paths.open_lake(settings)
    with locks.hold(settings, erasures.LEASE) as lease:
        recorded = erasures.erased_pseudonyms(settings)
        pseudonym = key_store.pseudonym_of(settings, person) if person is not None else None
        wanted = key_store.destroyed(settings) | ({pseudonym} if pseudonym else set())
        now, who = datetime.now(UTC), current_user()
        new = [Erasure(erased, why, who, now) for erased in sorted(wanted - recorded)]
        if new:
            erasures.add_erasures(settings, lease, *new)
        key_store.destroy(settings, wanted | recorded)
    return pseudonym


def _rebuild(settings: Settings, catalog: Catalog) -> int | None:
    """Serves what today's definitions give; the number of the publication, None if nothing served had to change."""
    last = recover.last_done(settings)
    if last is None or not changed_since(last, catalog):
        return None
    if in_kappa(last, catalog):
        from flows import switch  # it imports Spark

        return switch.to_kappa(settings, catalog, why="lk erase").publication.seq
    if run_roles.current_run(settings) is None:
        from flows import batch_cycle

        publication = batch_cycle.run_batch(settings, catalog, why="lk erase").publication
        return publication.seq if publication else None
    from flows import speed

    speed.start(settings, catalog, new=True)
    served = recover.last_done(settings)
    return served.seq if served else None


def _sealed_topics(catalog: Catalog) -> list[Name]:
    return [name for name, topic in catalog.topics.items() if subject_field(topic) is not None]
