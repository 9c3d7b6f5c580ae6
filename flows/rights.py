"""Makes the rights of a cluster, and on demand its quotas, those of ``infra/kafka/access.toml``."""

from __future__ import annotations

from dataclasses import dataclass

from infra.kafka import acls, quotas
from infra.local import kafka_quotas
from infra.settings import Settings


@dataclass(frozen=True)
class AppliedRights:
    """How many ACLs were added to a cluster and removed from it, and how many quotas were set."""

    added: int
    removed: int
    quotas: int


def apply_access(settings: Settings, *, with_quotas: bool) -> AppliedRights:
    """Makes the cluster's ACLs, and its quotas if asked, those of the file. Raises as ``apply_declared``."""
    change = acls.apply_declared(settings)
    if not with_quotas:
        return AppliedRights(change.added, change.removed, 0)
    limits = quotas.read_quotas(acls.ACCESS_FILE)
    kafka_quotas.set_quotas(settings, limits)
    return AppliedRights(change.added, change.removed, len(limits))
