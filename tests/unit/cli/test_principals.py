"""The login of each verb in Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from cli.principals import principal_of
from cli.root import lk
from infra.local.secured.users import kafka_users


def verbs(command: click.Command, words: str = "") -> Iterator[str]:
    """Every verb below a command."""
    yield words
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from verbs(below, f"{words} {name}".strip())


def test_every_verb_is_a_principal_of_the_matrix() -> None:
    principals = {words: principal_of(words) for words in verbs(lk)}
    assert len(principals) > 50
    assert set(principals.values()) <= set(kafka_users())


@pytest.mark.parametrize(
    ("words", "principal"),
    [
        ("produce", "producer"),
        ("speed run", "speed"),
        ("switch kappa", "speed"),
        ("route run", "route"),
        ("quarantine redrive", "redrive"),
        ("quarantine list", "batch"),
        ("topics apply", "admin"),
        ("rights apply", "admin"),
        ("batch", "batch"),
        ("status", "batch"),
    ],
)
def test_a_verb_has_the_principal_of_its_longest_prefix(words: str, principal: str) -> None:
    assert principal_of(words) == principal
