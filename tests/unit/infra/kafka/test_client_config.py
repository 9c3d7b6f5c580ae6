"""Connection options of Kafka clients, and the sources of the password."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from pydantic import ValidationError

from core.errors import Refused, TryAgain
from infra.kafka import admin_requests, client_config
from infra.settings import Settings

MSK: dict[str, Any] = {"bootstrap": "b-1:9096,b-2:9096", "kafka_security": "sasl_ssl", "kafka_user": "lk"}


def test_without_security_the_options_are_only_the_bootstrap_servers() -> None:
    plain = Settings(bootstrap="k:9092")
    assert client_config.librdkafka(plain) == {"bootstrap.servers": "k:9092"}
    assert client_config.spark_options(plain) == {"kafka.bootstrap.servers": "k:9092"}


def test_both_kinds_of_clients_get_the_same_options(tmp_path: Path) -> None:
    (tmp_path / "password").write_text('a"b\\c\n', "utf-8")
    (tmp_path / "ca").write_text("PEM", "utf-8")
    settings = Settings(**MSK, kafka_password_file=tmp_path / "password", kafka_ca=tmp_path / "ca")
    assert client_config.librdkafka(settings) == {
        "bootstrap.servers": "b-1:9096,b-2:9096",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "lk",
        "sasl.password": 'a"b\\c',
        "ssl.ca.pem": "PEM",
    }
    login = "org.apache.kafka.common.security.scram.ScramLoginModule"
    assert client_config.spark_options(settings) == {
        "kafka.bootstrap.servers": "b-1:9096,b-2:9096",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": f'{login} required username="lk" password="a\\"b\\\\c";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": "PEM",
    }


def test_each_principal_may_have_a_file_of_its_own(tmp_path: Path) -> None:
    for name in ("speed", "batch"):
        (tmp_path / name).write_text(f"of {name}", "utf-8")
    settings = Settings(bootstrap="b-1:9096", kafka_security="sasl_ssl", kafka_passwords=tmp_path)
    for name in ("speed", "batch"):
        options = client_config.librdkafka(client_config.as_principal(settings, name))
        assert (options["sasl.username"], options["sasl.password"]) == (name, f"of {name}")
    with pytest.raises(Refused, match="the password file of Kafka cannot be read"):
        client_config.librdkafka(client_config.as_principal(settings, "route"))
    one_user = Settings(**MSK)
    assert client_config.as_principal(one_user, "speed") == one_user


def test_the_password_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match="the password of Kafka user lk is missing"):
        client_config.librdkafka(Settings(**MSK))
    monkeypatch.setenv("LK_KAFKA_PASSWORD", "secret")
    assert client_config.librdkafka(Settings(**MSK))["sasl.password"] == "secret"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({**MSK, "kafka_user": ""}, "needs kafka_user"),
        ({**MSK, "bootstrap": None}, "kafka_security needs bootstrap"),
        ({**MSK, "kafka_security": "ssl"}, "sasl_ssl"),
    ],
)
def test_an_incomplete_login_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Settings(**wrong)


@pytest.mark.parametrize(
    "code", [KafkaError._TRANSPORT, KafkaError._DESTROY_BROKER, KafkaError.NOT_LEADER_FOR_PARTITION]
)
def test_a_broker_that_dies_during_a_request_is_a_transient_error(code: int) -> None:
    answer: Future[None] = Future()
    answer.set_exception(KafkaException(KafkaError(code)))
    with pytest.raises(TryAgain, match="Kafka does not answer"):
        admin_requests.result_or_raise(Settings(bootstrap="b-1:9096"), answer)


def test_an_error_of_the_request_is_not_transient() -> None:
    answer: Future[None] = Future()
    answer.set_exception(KafkaException(KafkaError(KafkaError.INVALID_CONFIG)))
    with pytest.raises(Refused, match="Kafka refused"):
        admin_requests.result_or_raise(Settings(bootstrap="b-1:9096"), answer)
