"""Kafka's access control lists, generated from ``access.toml``, and the request that makes a cluster have them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from confluent_kafka import KafkaError
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from core.errors import Refused
from infra.kafka import admin_requests, quotas
from infra.kafka.client_config import ADMIN, as_principal
from infra.settings import Settings

ROUTE = "route"  # the principal of routes
ACCESS_FILE = Path(__file__).with_name("access.toml")
_TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.BROKER,  # librdkafka's name of the cluster
}


@dataclass(frozen=True, order=True)
class Right:
    """One operation that a principal may do on resources of a type: ``name`` is a whole name, a prefix* or *.

    With the permission DENY it may not, whatever else allows it.
    """

    principal: str
    resource: str
    name: str
    operation: str
    permission: str = "ALLOW"

    @property
    def binding(self) -> Any:
        """The right as an ACL of the admin client, for every host."""
        prefix = self.name.endswith("*") and self.name != "*"
        pattern = ResourcePatternType.PREFIXED if prefix else ResourcePatternType.LITERAL
        return AclBinding(
            _TYPES[self.resource],
            self.name.removesuffix("*") if prefix else self.name,
            pattern,
            f"User:{self.principal}",
            "*",
            AclOperation[self.operation],
            AclPermissionType[self.permission],
        )


@dataclass(frozen=True)
class RightState:
    """A right and what the cluster has: ``set``, ``missing``, or ``not declared`` of a principal of the file."""

    right: Right
    state: Literal["set", "missing", "not declared"]


@dataclass(frozen=True)
class RightsChange:
    """How many ACLs were added to a cluster and removed from it."""

    added: int
    removed: int


def read_rights(path: Path = ACCESS_FILE) -> tuple[Right, ...]:
    """Every right of the matrix, in its order."""
    return tuple(_rights(tomllib.loads(path.read_text("utf-8"))))


def _rights(matrix: dict[str, Any]) -> Iterator[Right]:
    for principal, resources in matrix.items():
        if principal == quotas.TABLE:
            continue
        for resource, names in resources.items():
            for name, operations in names.items():
                yield from (_right(principal, resource, name, operation) for operation in operations)


def _right(principal: str, resource: str, name: str, operation: str) -> Right:
    """The right of an entry of the matrix, such as ``WRITE`` or ``DENY WRITE``."""
    denied = operation.removeprefix("DENY ")
    return Right(principal, resource, name, denied, "ALLOW" if denied == operation else "DENY")


def right_states(settings: Settings) -> tuple[RightState, ...]:
    """Every right of the matrix in its order, then what the cluster has beyond it."""
    rights, present = read_rights(), _present(settings)
    declared = {right.binding for right in rights}
    others = sorted(_of_binding(acl) for acl in _undeclared(present, declared))
    states = [RightState(right, "set" if right.binding in present else "missing") for right in rights]
    return (*states, *(RightState(right, "not declared") for right in others))


def apply_declared(settings: Settings) -> RightsChange:
    """Makes the cluster's ACLs those of the matrix.

    Raises Refused where all verbs have one login, and without an authorizer.
    """
    if not settings.has_principals:
        raise Refused(
            f"all verbs log in as one user, {settings.kafka_user or 'ANONYMOUS'}, "
            "and the matrix gives that user no rights",
            where=settings.bootstrap_servers,
            fix="set kafka_passwords to a folder with a password for each principal of infra/kafka/access.toml",
        )
    return apply_rights(settings, read_rights())


def apply_rights(settings: Settings, rights: tuple[Right, ...]) -> RightsChange:
    """Makes the cluster's ACLs of these principals those of ``rights``. Refused without an authorizer.

    ACLs of other principals stay, and those that ``allow_writes`` gave. It adds before it removes, so no right that
    remains is missing for a moment.
    """
    client = admin_requests.admin_client(settings)
    present, declared = _present(settings), {right.binding for right in rights}
    missing, others = list(declared - present), _undeclared(present, declared)
    if missing:
        admin_requests.finish(settings, client.create_acls(missing, request_timeout=admin_requests.DEADLINE))
    _delete(settings, others)
    return RightsChange(len(missing), len(others))


def withdraw_rights(settings: Settings, principals: Iterable[str]) -> int:
    """Deletes every ACL of these principals; returns how many there were."""
    users = {f"User:{principal}" for principal in principals}
    acls = [acl for acl in _present(settings) if acl.principal in users] if users else []
    _delete(settings, acls)
    return len(acls)


def allow_writes(settings: Settings, topics: Iterable[str]) -> None:
    """Lets routes write to these topics, where each verb has a login of its own."""
    bindings = [_write(topic).binding for topic in topics]
    if settings.has_principals and bindings:
        client = admin_requests.admin_client(as_principal(settings, ADMIN))
        futures = client.create_acls(bindings, request_timeout=admin_requests.DEADLINE)
        admin_requests.finish(settings, futures, ignore=KafkaError.SECURITY_DISABLED)


def withdraw_writes(settings: Settings, topics: Iterable[str]) -> None:
    """Takes back what ``allow_writes`` gave."""
    filters = [_exactly(_write(topic).binding) for topic in topics]
    if settings.has_principals and filters:
        client = admin_requests.admin_client(as_principal(settings, ADMIN))
        futures = client.delete_acls(filters, request_timeout=admin_requests.DEADLINE)
        admin_requests.finish(settings, futures, ignore=KafkaError.SECURITY_DISABLED)


def given_writes(settings: Settings) -> frozenset[str]:
    """The topics that ``allow_writes`` gave; none where all verbs have one login, or the brokers have no rights."""
    if not settings.has_principals:
        return frozenset()
    return frozenset(acl.name for acl in _present(as_principal(settings, ADMIN)) if _is_given(acl))


def _present(settings: Settings) -> set[Any]:
    """The cluster's ACLs; none where the brokers have no authorizer."""
    anything: Any = None
    kinds = (AclOperation.ANY, AclPermissionType.ANY)
    any_acl = AclBindingFilter(ResourceType.ANY, anything, ResourcePatternType.ANY, anything, anything, *kinds)
    listed = admin_requests.admin_client(settings).describe_acls(any_acl, request_timeout=admin_requests.DEADLINE)
    return set(admin_requests.result_or_raise(settings, listed, ignore=KafkaError.SECURITY_DISABLED) or ())


def _undeclared(present: set[Any], declared: set[Any]) -> list[Any]:
    """ACLs of the declared principals that are not declared, but for those that ``allow_writes`` gave."""
    principals = {binding.principal for binding in declared}
    return [acl for acl in present - declared if acl.principal in principals and not _is_given(acl)]


def _of_binding(acl: Any) -> Right:
    """The right that an ACL of the cluster is."""
    resource = next((name for name, kind in _TYPES.items() if kind == acl.restype), acl.restype.name.lower())
    name = acl.name + ("*" if acl.resource_pattern_type == ResourcePatternType.PREFIXED else "")
    principal = acl.principal.removeprefix("User:")
    return Right(principal, resource, name, acl.operation.name, acl.permission_type.name)


def _delete(settings: Settings, acls: Iterable[Any]) -> None:
    if filters := [_exactly(acl) for acl in acls]:
        client = admin_requests.admin_client(settings)
        admin_requests.finish(settings, client.delete_acls(filters, request_timeout=admin_requests.DEADLINE))


def _write(topic: str) -> Right:
    return Right(ROUTE, "topic", topic, "WRITE")


def _is_given(acl: Any) -> bool:
    """Whether ``allow_writes`` gave a right: it names one topic, where the file names all."""
    return bool(acl.name != "*" and acl == _write(acl.name).binding)


def _exactly(acl: Any) -> Any:
    """The filter that matches one ACL."""
    return AclBindingFilter(
        acl.restype,
        acl.name,
        acl.resource_pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission_type,
    )


def rights_table(rights: tuple[Right, ...]) -> str:
    """The matrix as a table in Markdown: a row for each principal and resource."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for right in rights:
        operation = right.operation if right.permission == "ALLOW" else f"{right.permission} {right.operation}"
        rows.setdefault((right.principal, right.resource, right.name), []).append(operation)
    lines = [f"| {p} | {r.replace('_', ' ')} | `{n}` | {', '.join(ops)} |" for (p, r, n), ops in rows.items()]
    return "\n".join(["| principal | resource | name | operations |", "| --- | --- | --- | --- |", *lines]) + "\n"
