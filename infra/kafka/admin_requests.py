"""The admin client of this process and the results of its requests, each of which has a deadline."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from core.errors import LkError, Refused
from core.identifiers import Name
from infra.kafka import kafka_errors
from infra.kafka.client_config import asks_for_password, librdkafka
from infra.settings import Settings

DEADLINE = 10.0
_LOGIN_CHECKS = 20  # before the deadline
T = TypeVar("T")
_clients: dict[tuple[tuple[str, Any], ...], AdminClient] = {}
_LOGIN_ERRORS = (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED)
_lock = threading.Lock()


def admin_client(settings: Settings) -> AdminClient:
    """The admin client of this process for these brokers. It reconnects by itself.

    Raises TryAgain at once when every broker refuses the first connection; librdkafka would wait for its deadline.
    """
    conf = librdkafka(settings)
    key = tuple(sorted(conf.items()))
    with _lock:
        if key not in _clients:
            if all(refuses_connections(address) for address in settings.bootstrap_servers.split(",")):
                raise kafka_errors.unavailable(settings, "connection refused")
            _clients[key] = new_client(settings, conf)
        return _clients[key]


def close_client(settings: Settings) -> None:
    """Closes the admin client of this process for these brokers; the next ``admin_client`` opens another.

    A client keeps reconnecting while its brokers stop one after another. librdkafka has aborted a process then, and
    when a late answer came to a request that had failed before (confluentinc/librdkafka#4605). It is closed at both.
    """
    with _lock:
        _clients.pop(tuple(sorted(librdkafka(settings).items())), None)


def new_client(settings: Settings, conf: dict[str, Any]) -> AdminClient:
    """A new client. Raises Refused when the brokers reject the credentials, or their certificate is not trusted."""
    errors: deque[KafkaError] = deque(maxlen=20)
    # Callers get errors as exceptions; without log_level 0, librdkafka prints them on stderr too.
    conf = conf | {"socket.timeout.ms": 5000, "client.id": "lk", "log_level": 0, "error_cb": errors.append}
    admin_client = AdminClient(conf)
    for _ in range(_LOGIN_CHECKS if asks_for_password(settings) else 0):
        with suppress(KafkaException):
            admin_client.list_topics(timeout=DEADLINE / _LOGIN_CHECKS)
            break
        admin_client.poll(0)  # delivers errors to error_cb
        _require_login(settings, errors)
    return admin_client


def _require_login(settings: Settings, errors: Iterable[KafkaError]) -> None:
    for error in errors:
        if error.code() in _LOGIN_ERRORS:
            raise Refused(
                f"Kafka rejected the credentials or the certificate of user {settings.kafka_user}: {error.str()}",
                where=settings.bootstrap_servers,
                fix="correct kafka_user, kafka_password_file (or LK_KAFKA_PASSWORD) or kafka_ca",
            )


def refuses_connections(address: str) -> bool:
    """Whether nothing listens at an address; False when the connection fails in another way."""
    host, _, port = address.strip().rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=DEADLINE).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def call_or_raise(settings: Settings, call: Any) -> Any:
    """The result of a call that blocks. Raises its error as Refused or TryAgain."""
    try:
        return call()
    except KafkaException as e:
        raise _failed(settings, e.args[0]) from None


def result_or_raise(settings: Settings, future: Future[T], *, ignore: int | None = None, topic: str = "") -> Any:
    """The result of a request; None for the error code ``ignore``. Raises any other error as Refused or TryAgain."""
    try:
        return future.result(timeout=DEADLINE + 5)
    except KafkaException as e:
        error = e.args[0]
        if ignore is not None and error.code() == ignore:
            return None
        if topic and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise no_topic(settings, Name(topic)) from None
        raise _failed(settings, error) from None
    except TimeoutError:
        close_client(settings)
        raise kafka_errors.unavailable(settings, "the request timed out") from None


def finish(settings: Settings, futures: Mapping[Any, Future[Any]], *, ignore: int | None = None) -> None:
    """Waits for requests that are sent together, in their order. Raises as ``result_or_raise``."""
    for future in futures.values():
        result_or_raise(settings, future, ignore=ignore)


def _failed(settings: Settings, error: KafkaError) -> LkError:
    if kafka_errors.is_lost(error):
        close_client(settings)
    return kafka_errors.request_failed(settings, error)


def no_topic(settings: Settings, name: Name) -> Refused:
    """The error for a topic that does not exist."""
    return Refused(
        f"topic {name} does not exist", where=settings.bootstrap_servers, fix=f"send records to it: `lk produce {name}`"
    )
