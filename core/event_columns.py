"""The columns of Kafka's source and of decoded events."""

from __future__ import annotations

from core.topic import EVENT_TIME, Topic

HEADERS = "array<struct<key:string,value:binary>>"
SOURCE_COLUMNS = {  # column of Kafka's source -> our name and its Spark type
    "topic": ("_topic", "string"),
    "partition": ("_partition", "int"),
    "offset": ("_offset", "bigint"),
    "timestamp": ("_timestamp", "timestamp"),
    "timestampType": ("_timestamp_type", "int"),
    "key": ("_key", "binary"),
    "value": ("_value", "binary"),
    "headers": ("_headers", HEADERS),
}
RAW_COLUMNS = tuple(name for name, _ in SOURCE_COLUMNS.values())
ERROR = "_error"  # names of the rules that a record broke, between commas; null for an event
DROPPED_COPY = "redriven_original_decodes"  # the rule that a redriven copy breaks when its original decodes by now
DELETED = "deleted"  # of a changelog: whether the event deletes its key


def decoded_columns(topic: Topic) -> dict[str, str]:
    """Column -> Spark type of a topic's decoded records, in order."""
    raw = dict(SOURCE_COLUMNS.values())
    deleted = {DELETED: "boolean"} if topic.changelog else {}
    fields = {field.name: field.type for field in topic.fields}
    return {**raw, ERROR: "string", EVENT_TIME: "timestamp", **deleted, **fields}


def decoded_ddl(topic: Topic) -> str:
    """The columns of decoded records as Spark DDL."""
    return ", ".join(f"`{name}` {kind}" for name, kind in decoded_columns(topic).items())
