"""What an error of Kafka means: the retriable errors of its protocol, missing rights, and all others."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from core.errors import Refused, TryAgain
from infra.kafka.kafka_errors import is_lost, request_failed
from infra.settings import Settings

SETTINGS = Settings(kafka_user="analyst")
# Error codes of https://kafka.apache.org/protocol that are marked retriable and that a request of ours can get.
RETRIABLE = (5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 72, 74, 75, 78, 80, 83, 88, 89)


@pytest.mark.parametrize("code", RETRIABLE)
def test_an_error_that_the_protocol_marks_as_retriable_says_try_again(code: int) -> None:
    error = request_failed(SETTINGS, KafkaError(code))
    assert type(error) is TryAgain
    assert error.what.startswith("Kafka does not answer: ")


@pytest.mark.parametrize("code", [29, 30, 31, 53])
def test_a_missing_right_names_the_user(code: int) -> None:
    error = request_failed(SETTINGS, KafkaError(code))
    assert type(error) is Refused
    assert error.what.startswith("Kafka user analyst has no right to this: ")


@pytest.mark.parametrize("code", [3, 10, 17, 40, 42, 44])
def test_any_other_error_is_refused(code: int) -> None:
    error = request_failed(SETTINGS, KafkaError(code))
    assert type(error) is Refused
    assert error.what.startswith("Kafka refused: ")


def test_only_a_lost_connection_closes_the_client() -> None:
    assert is_lost(KafkaError(KafkaError._TRANSPORT))
    assert not is_lost(KafkaError(78))
