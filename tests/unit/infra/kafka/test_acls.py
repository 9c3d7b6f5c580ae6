"""The rights of access.toml that must not grow unseen: who reads records in Kafka."""

from __future__ import annotations

from infra.kafka.acls import read_rights


def test_only_the_layers_read_records_as_kafka_hides_no_field() -> None:
    readers = {
        (right.principal, right.name)
        for right in read_rights()
        if (right.resource, right.operation) == ("topic", "READ")
    }
    assert readers == {("speed", "*"), ("batch", "*"), ("route", "*"), ("redrive", "*")}
