"""A topic with sealed fields, two views of it, and visits of persons."""

from __future__ import annotations

import json
from typing import Any

from core.catalog import Catalog
from core.identifiers import Name
from core.measures import Count, Sum
from core.topic import Field, Json, Topic, Version
from core.view import Key, Rollup
from infra.kafka.input_files import OutgoingRecord

AT = 1_700_000_000_000
CANARY, CANARY_MAIL = "canary.person.7f3a", "yellow.bird.91c2@example.org"


def topic(name: str = "visits", **changes: Any) -> Topic:
    """Who visited, with what address, and what they spent."""
    return Topic(
        **{
            "name": name,
            "partitions": 2,
            "key": "person",
            "event_time": "at",
            "format": Json(
                (
                    Version(1, names=("person", "mail", "cents", "at")),
                    Version(2, names=("who", "mail", "cents", "at"), upcast={"person": "who"}),
                )
            ),
            "fields": (
                Field("person", subject="person"),
                Field("mail", required=False, personal=True, subject="person"),
                Field("cents", "bigint"),
                Field("at", "timestamp"),
            ),
            **changes,
        }
    )


def catalog(prefix: str) -> Catalog:
    """The topic and two views under a prefix, as their files would define them."""
    visits = topic(f"{prefix}_visits")
    measures = (Count("visits", comment="Visits"), Sum("cents", "cents", comment="What they spent"))
    views = [
        Rollup(f"{prefix}_by_{key}", sources=(visits.name,), keys=(Key(key, key),), measures=measures)
        for key in ("person", "mail")
    ]
    return Catalog({Name(visits.name): visits}, {Name(view.name): view for view in views})


def visit(person: str, mail: str | None, cents: Any = 100, at: int = AT) -> OutgoingRecord:
    """A record as a program has it before it is encrypted."""
    value = {"person": person, "mail": mail, "cents": cents, "at": at}
    return OutgoingRecord(person.encode(), json.dumps(value, separators=(",", ":")).encode())
