"""The quotas of infra/kafka/access.toml, and who counts as one client."""

from __future__ import annotations

from infra.kafka.acls import ACCESS_FILE, read_rights
from infra.kafka.quotas import Quota, quotas_table, read_quotas
from infra.kafka.spark_source import source_options
from infra.settings import Settings


def test_each_user_and_each_run_has_a_quota() -> None:
    assert [quota.name for quota in read_quotas(ACCESS_FILE)] == ["each_user", "each_run"]
    assert "quotas" not in {right.principal for right in read_rights()}


def test_the_table_has_the_arguments_of_kafkas_tool() -> None:
    table = quotas_table((Quota("each_run", (("fetch", 5 << 20),)),)).splitlines()
    assert table[2:] == [
        "| each run | fetch 5 MiB/s | `--alter --entity-type users --entity-name speed --entity-type clients "
        "--entity-default --add-config consumer_byte_rate=5242880` |"
    ]


def test_all_consumers_of_a_run_are_one_client() -> None:
    assert source_options(Settings(), 1, "r000001")["kafka.client.id"] == "r000001"
    assert "kafka.client.id" not in source_options(Settings(), 1)
