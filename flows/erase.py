"""Erases a person: the key is destroyed, then what is served is computed again without the person's records.

1. Write the erasure, which names a pseudonym.
2. Destroy the key: from here on nobody can read the person's fields, in the log, in any table or in a backup of them.
3. Rebuild: the erasure has changed the decoders of topics with sealed fields, and this introduces them as any change.

Each step can be repeated. After a crash, and after a restore of the lake or of the key store, ``erase_again`` finishes
what is recorded in either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from core.catalog import Catalog
from core.errors import LkError, Refused
from core.identifiers import Name
from core.sealed_topic import ERASED_RULE, subject_field
from core.validation.definition_change import changed_definitions
from infra.control import erasures, locks, route_runs, run_roles, runs
from infra.control.erasures import Erasure
from infra.control.publications import Publication, last_done, last_number
from infra.control.run_roles import Role
from infra.definitions import definition_files
from infra.definitions.sealed_catalog import has_sealed_fields
from infra.lake import table_paths
from infra.lake.process_identity import current_user
from infra.personal import key_store
from infra.settings import Settings
from serving.erased_persons import counting_views
from serving.publish import changed_since, in_kappa
from speed.process import background
from speed.quarantine import listing

AGAIN = "`lk erase --again`"


@dataclass(frozen=True)
class Erased:
    """``pseudonym`` is the person's, None if everybody was erased again. ``left_out``: topic -> records.

    ``publication`` is the one without them; None if nothing served had to change. ``still`` names what may still count
    a person, with what to do.
    """

    pseudonym: str | None
    left_out: Mapping[Name, int]
    publication: int | None
    still: tuple[str, ...]


def erase(settings: Settings, person: str, why: str) -> Erased:
    """Erases a person, and whoever is recorded as erased; returns when readers see the result.

    Raises Refused, and destroys nothing, if no topic has sealed fields, or if the key store is not here or does not
    know the person.
    """
    _require_sealed_fields(settings)
    pseudonym = key_store.pseudonym_of(settings, person) if person else None
    if pseudonym is None:
        raise Refused(
            "the key store does not know this person: never seen, written in another way, or erased before",
            where=str(settings.person_keys_file),
            fix=f"write the person as records do; {AGAIN} finishes an erasure that was interrupted",
        )
    destroy_keys(settings, pseudonym, why)
    return _rebuilt(settings, pseudonym)


def erase_again(settings: Settings, why: str) -> Erased:
    """Erases whoever is recorded as erased, in the lake or in the key store. Raises Refused as ``erase``."""
    _require_sealed_fields(settings)
    destroy_keys(settings, None, why)
    return _rebuilt(settings, None)


def destroy_keys(settings: Settings, pseudonym: str | None, why: str) -> None:
    """Records an erasure, and destroys the keys of everybody who is recorded as erased."""
    table_paths.open_lake(settings)
    with locks.hold(settings, erasures.LEASE) as lease:
        recorded = erasures.erased_pseudonyms(settings)
        erased = recorded | key_store.destroyed(settings) | ({pseudonym} if pseudonym else set())
        last, who, now = last_number(settings), current_user(), datetime.now(UTC)
        new = [Erasure(name, last, why, who, now) for name in sorted(erased - recorded)]
        if new:
            erasures.add_erasures(settings, lease, *new)
        key_store.destroy(settings, erased)


def unfinished(settings: Settings, catalog: Catalog) -> tuple[str, ...]:
    """What is wrong with erasures: lake and key store differ, as after a restore, or something was not rebuilt."""
    recorded, has_store = erasures.erased_pseudonyms(settings), settings.person_keys_file.exists()
    if not (recorded or has_store):
        return ()
    problems = []
    if recorded and not has_sealed_fields(catalog):
        problems.append(
            f"{len(recorded)} persons were erased, and no topic has sealed fields any more: they count again"
        )
    try:
        destroyed = key_store.destroyed(settings)
    except LkError as e:
        return (*problems, f"{e.what}: {e.fix}")
    if destroyed - recorded:
        problems.append(f"{len(destroyed - recorded)} erased persons are unknown to the lake, as if restored: {AGAIN}")
    if has_store and recorded - destroyed:
        problems.append(f"the key store may have keys of {len(recorded - destroyed)} erased persons: {AGAIN}")
    last = last_done(settings)
    if last and set(counting_views(settings, catalog, last)) & catalog.views.keys():
        problems.append(f"publication {last.seq} may count persons who were erased since: {AGAIN}")
    return tuple(problems)


def _require_sealed_fields(settings: Settings) -> None:
    if not has_sealed_fields(definition_files.load(settings)):
        fix = "declare fields with a subject (docs/erasure.md)"
        raise Refused("no topic has sealed fields, so no person can be erased", fix=fix)
    if not settings.person_keys_file.exists():
        where, fix = str(settings.person_keys_file), "run it where records are encrypted, or set person_keys"
        raise Refused("there is no key store here", where=where, fix=fix)


def _rebuilt(settings: Settings, pseudonym: str | None) -> Erased:
    catalog = definition_files.load(settings)
    publication = _rebuild(settings, catalog)
    topics = [name for name, topic in catalog.topics.items() if subject_field(topic) is not None]
    left_out = {topic: listing.count_of(settings, catalog, topic, ERASED_RULE) for topic in topics}
    return Erased(pseudonym, left_out, publication, _still_counting(settings, catalog))


def _rebuild(settings: Settings, catalog: Catalog) -> int | None:
    """Serves what today's definitions give; the number of the publication, None if nothing served had to change."""
    last = last_done(settings)
    if last is None or not changed_since(last, catalog):
        return None
    if in_kappa(last, catalog):
        return _replayed(settings, catalog).seq
    if run_roles.current_run(settings) is None:
        from flows import batch_cycle  # it imports Spark, as those below

        publication = batch_cycle.run_batch(settings, catalog, why="lk erase").publication
        return publication.seq if publication else None
    from flows import speed

    speed.start(settings, catalog, new=True)
    return last_number(settings)


def _replayed(settings: Settings, catalog: Catalog) -> Publication:
    """Serves a replay. One that was declared before the erasure is given up; a lost prefix comes from the archive."""
    from flows import replays, switch
    from flows.batch_cycle import current_build
    from speed import replay_state

    for run in _changed_runs(settings, catalog, "replay"):
        replays.abandon(settings, run, why="lk erase")
    is_truncated = any(log.begin > 0 for log in replay_state.partition_logs(settings, catalog))
    if is_truncated:
        current_build(settings, catalog)  # lands what Kafka has removed, decoded without the person
    publication = switch.to_kappa(settings, catalog, from_archive=is_truncated, why="lk erase").publication
    for run in _changed_runs(settings, catalog, "warm"):  # no rollback leads to them
        background.stop(settings, run)
    return publication


def _changed_runs(settings: Settings, catalog: Catalog, role: Role) -> list[Name]:
    """The runs of a role that have other definitions than there are now."""
    roles = run_roles.roles(settings)
    declared = [runs.read_run(settings, run) for run in roles if roles[run] == role]
    return [run.id for run in declared if changed_definitions(catalog, run.views, run.decoders)]


def _still_counting(settings: Settings, catalog: Catalog) -> tuple[str, ...]:
    """What may still count a person after the rebuild, and what to do."""
    last = last_done(settings)
    pins = last.pins if last else {}
    lines = []
    for view, pin in pins.items():
        if view not in catalog.views:
            lines.append(f"view {view} has no file any more and stays as it is: give it one, then {AGAIN}")
        elif pin.digest != catalog.digest(view):
            why = "see `lk status`" if catalog.view(view).reproducible else "it counts by processing time"
            lines.append(f"view {view} was not computed again: {why}")
    for history in route_runs.read_histories(settings).values():
        owner = history.runs.get(history.owner) if history.owner else None
        if owner and history.route in catalog.routes and owner.digest != catalog.route_digest(history.route):
            lines.append(f"route {history.route} copies with an earlier definition: `lk route switch {history.route}`")
    return tuple(lines)
