"""What an error of Kafka means for the caller: no connection, try again, no right, or refused."""

from __future__ import annotations

from confluent_kafka import KafkaError

from core.errors import LkError, Refused, TryAgain
from infra.settings import Settings

_LOST = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._DESTROY_BROKER,  # the broker died during the request
)
# Errors that Kafka's protocol marks as retriable; librdkafka says so for a few of them only.
_TRANSIENT = (
    *_LOST,
    KafkaError._RESOLVE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.NOT_CONTROLLER,
    KafkaError.CONCURRENT_TRANSACTIONS,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.LISTENER_NOT_FOUND,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,  # a new leader does not know yet which records are committed
    KafkaError.PREFERRED_LEADER_NOT_AVAILABLE,
    KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    KafkaError.THROTTLING_QUOTA_EXCEEDED,
)
_DENIED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)


def is_lost(error: KafkaError) -> bool:
    """Whether the connection to a broker is lost."""
    return error.code() in _LOST


def is_transient(error: KafkaError) -> bool:
    """Whether the same request can succeed later: a broker is down, or leadership moved."""
    return error.code() in _TRANSIENT or bool(error.retriable())


def request_failed(settings: Settings, error: KafkaError) -> LkError:
    """The error for a failed request: TryAgain if it can succeed later, else Refused."""
    if is_transient(error) or error.code() in _DENIED:
        return read_failed(settings, error)
    if error.code() == KafkaError.SECURITY_DISABLED:
        return Refused(
            "the brokers have no authorizer, so everyone may do everything",
            where=settings.bootstrap_servers,
            fix="set authorizer.class.name of the brokers; a new local instance has rights with `lk up --secured`",
        )
    return Refused(f"Kafka refused: {error.str()}", where=settings.bootstrap_servers, fix="read the broker's log")


def read_failed(settings: Settings, error: KafkaError) -> LkError:
    """The error for a failed read: Refused for a user without the right, otherwise TryAgain."""
    if error.code() not in _DENIED:
        return unavailable(settings, error.str())
    return Refused(
        f"Kafka user {settings.kafka_user or 'ANONYMOUS'} has no right to this: {error.str()}",
        where=settings.bootstrap_servers,
        fix="give it the right: infra/kafka/access.toml has those that each principal needs",
    )


def unavailable(settings: Settings, reason: str) -> TryAgain:
    """The error for a Kafka that does not answer."""
    return TryAgain(f"Kafka does not answer: {reason}", where=settings.bootstrap_servers, fix="start it: `lk up`")
