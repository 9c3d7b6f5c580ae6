"""Topics with fields of every type and with every option, and good records of them."""

from __future__ import annotations

from core.topic import Field, Json, Lines, Rule, Topic, Version

KINDS = Topic(
    "kinds",
    key="text",
    event_time="at",
    format=Json(
        versions=(
            Version(1, names=("text", "side", "amount", "tiny", "whole", "count", "flag", "at", "clock", "other")),
            Version(
                2,
                names=("name", "whole", "side", "at", "count", "amount", "clock", "tiny", "flag"),
                upcast={"text": "name"},
            ),
            Version(3, names=("text", "cents", "at"), upcast={"amount": "concat(cents, '.00')"}),
        ),
        version_name="v",
    ),
    fields=(
        Field("text"),
        Field("side", required=False, pattern="buy|sell", absent="none"),
        Field("amount", "decimal(10,2)", required=False, minimum="-5.5", maximum="1000"),
        Field("tiny", "decimal(4,4)", required=False),
        Field("whole", "decimal(18,0)", required=False, absent="-1"),
        Field("count", "bigint", required=False, minimum="0", maximum="999999", pattern="[0-9]+"),
        Field("flag", "boolean", required=False),
        Field("at", "timestamp"),
        Field("clock", "timestamp", required=False, time_format="yyyy-MM-dd HH:mm:ss", absent=""),
    ),
    rules=(
        Rule("small", "coalesce(count, 0) < 5000"),
        Rule("later", "clock is null or clock <= at"),
        # Spark computes the text of each of these once, in a projection before the rule's own.
        Rule("side_between", "side is null or substr(side, 1, 1) between 'b' and 's'"),
        Rule("not_nulled", "nullif(concat(text, side), 'bcsell') is not null or side is null or side = 'sell'"),
        # One lambda variable is one object, which threads must not share.
        Rule("words", "forall(split(text, ' '), word -> length(word) < 5)"),
    ),
)
KINDS_RECORDS = (
    b'{"text":"a","side":"buy","amount":1.50,"tiny":0.1234,"whole":12,"count":7,"flag":true,"at":1767225600000,'
    b'"clock":"2025-12-31 23:00:00","other":1}',
    b'{"text": "b c", "side": "none", "amount": -5.5, "tiny": "0.5", "whole": -1, "count": "0012", "flag": "false", '
    b'"at": "1767225600000", "clock": "", "other": "x"}',
    '{"text":"é","side":null,"amount":null,"tiny":1.5,"whole":999999999999999999,"count":null,"flag":null,'
    '"at":1767225600000,"clock":null,"other":null}'.encode(),
    b'{"v":2,"name":"n","whole":0,"side":"sell","at":1767225600000,"count":4999,"amount":1000.00,'
    b'"clock":"2024-02-29 00:00:00","tiny":-0.0001,"flag":false}',
    b'{"v": 2, "name": "", "whole": -0, "side": "buy", "at": 31536000000, "count": 5000, "amount": 0, '
    b'"clock": "2025-01-01 00:00:00", "tiny": 0, "flag": true}',
    b'{"v":3,"text":"t","cents":150,"at":1767225600000}',
)

CHANGES = Topic(
    "changes",
    key="id",
    changelog=True,
    format=Json(versions=(Version(1, names=("id", "city", "level")),)),
    fields=(Field("id"), Field("city"), Field("level", "bigint", required=False, minimum="0")),
)
CHANGES_RECORDS = (b'{"id":"key","city":"Oslo","level":3}', b'{"id": "key", "city": "", "level": null}')

LINES = Topic(
    "lines",
    format=Lines(r"(\w+) (?:\[([^\]]*)\] )?(-?[0-9.]+|-)( .*)?"),
    fields=(
        Field("word", pattern="[a-z]+"),
        Field("note", required=False, absent=""),
        Field("amount", "decimal(6,3)", required=False, absent="-"),
        Field("rest", required=False),
    ),
)
LINES_RECORDS = (b"abc [a note] 12.5 rest", b"word - ", b"x [] -0.001", b"other 999.999 ...")
