"""Sends records whose header has a name of any bytes. confluent-kafka takes only text, so librdkafka is called here."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import confluent_kafka

from infra.settings import Settings

# Kinds of arguments of rd_kafka_producev, as librdkafka's rdkafka.h numbers them.
_END, _TOPIC, _PARTITION, _VALUE, _KEY, _FLAGS, _HEADERS = 0, 1, 3, 4, 5, 7, 10
_PRODUCER, _COPY = 0, 2
_PATIENCE_MS = 30_000


def send_with_header(
    settings: Settings, topic: str, partition: int, records: Sequence[tuple[bytes, bytes, bytes]]
) -> None:
    """Sends records, each a key, a value and the name of its only header. Fails unless all are acknowledged."""
    library = _library()
    conf, error = library.rd_kafka_conf_new(), ctypes.create_string_buffer(512)
    for name, setting in ((b"bootstrap.servers", settings.bootstrap_servers), (b"enable.idempotence", "true")):
        assert library.rd_kafka_conf_set(conf, name, setting.encode(), error, len(error)) == 0, error.value
    producer = library.rd_kafka_new(_PRODUCER, conf, error, len(error))
    assert producer, error.value
    try:
        for key, value, name in records:
            headers = ctypes.c_void_p(library.rd_kafka_headers_new(1))
            assert library.rd_kafka_header_add(headers, name, len(name), b"x", 1) == 0
            arguments = [_TOPIC, topic.encode(), _PARTITION, ctypes.c_int32(partition), _FLAGS, _COPY]
            arguments += [_KEY, key, ctypes.c_size_t(len(key)), _VALUE, value, ctypes.c_size_t(len(value))]
            assert library.rd_kafka_producev(producer, *arguments, _HEADERS, headers, _END) == 0
        assert library.rd_kafka_flush(producer, _PATIENCE_MS) == 0
    finally:
        library.rd_kafka_destroy(producer)


def _library() -> ctypes.CDLL:
    (path,) = Path(confluent_kafka.__file__).parent.parent.glob("confluent_kafka.libs/librdkafka*")
    library, text, pointer, size = ctypes.CDLL(str(path)), ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_headers_new"):
        getattr(library, name).restype = pointer
    library.rd_kafka_conf_set.argtypes = [pointer, text, text, text, size]
    library.rd_kafka_new.argtypes = [ctypes.c_int, pointer, text, size]
    library.rd_kafka_headers_new.argtypes = [size]
    library.rd_kafka_header_add.argtypes = [pointer, text, ctypes.c_ssize_t, text, ctypes.c_ssize_t]
    library.rd_kafka_producev.argtypes = [pointer]
    library.rd_kafka_flush.argtypes = [pointer, ctypes.c_int]
    library.rd_kafka_destroy.argtypes = [pointer]
    return library
