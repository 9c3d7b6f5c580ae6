"""The principal of ``infra/kafka/access.toml`` as which a verb uses Kafka, where each has a password."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infra.settings import Settings

# A verb has the principal of the longest prefix of its words.
_PRINCIPALS = {
    "": "batch",
    "up": "admin",
    "rotate": "admin",
    "topics": "admin",
    "rights": "admin",
    "produce": "producer",
    "speed": "speed",
    "replay": "speed",
    "switch": "speed",
    "erase": "speed",
    "route": "route",
    "quarantine redrive": "redrive",
}


def principal_of(words: str) -> str:
    """The principal of a verb, such as ``quarantine redrive``; of one that is not listed, that of the batch layer."""
    parts = words.split()
    prefixes = (" ".join(parts[:count]) for count in range(len(parts), -1, -1))
    return next(_PRINCIPALS[prefix] for prefix in prefixes if prefix in _PRINCIPALS)


def with_principal(settings: Settings, words: str) -> Settings:
    """The settings with the login of a verb."""
    from infra.kafka.client_config import as_principal

    return as_principal(settings, principal_of(words))
