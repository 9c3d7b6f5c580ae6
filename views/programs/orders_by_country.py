"""Lookup table: orders per country, by the country's name at the time of the order."""

from pathlib import Path

from core.example import Example
from core.lookup import parse
from core.measures import Count, Sum
from core.view import Check, Key, Rollup

COUNTRIES = parse(Path(__file__).with_name("countries.csv").read_text("utf-8"))

VIEW = Rollup(
    "orders_by_country",
    comment="Orders per country of delivery, by its name at the time of the order; null for unknown codes",
    sources=("orders",),
    keys=(Key("country_name", COUNTRIES.of("country"), comment="Name of the country at the time of the order"),),
    measures=(
        Count("orders", comment="Orders"),
        Sum("amount", "amount", scale=2, comment="Dollars to be paid"),
    ),
    checks=(Check("some", "orders > 0 and amount > 0"),),
)

EXAMPLE = Example(  # Turkey is named Türkiye since 2022-06-01; XX is no country
    records={
        "orders": (
            '{"order_id":"o1","customer":"c1","country":"TR","amount":"20.00","event_time":ms(2022-05-31T23:59:59Z)}',
            '{"order_id":"o2","customer":"c2","country":"TR","amount":"5.50","event_time":ms(2022-06-01T00:00:00Z)}',
            '{"order_id":"o3","customer":"c1","country":"TR","amount":"1.00","event_time":ms(2026-01-01T00:00:00Z)}',
            '{"order_id":"o4","customer":"c3","country":"XX","amount":"7.00","event_time":ms(2026-01-01T00:00:00Z)}',
        ),
    },
    rows="""
        country_name | orders | amount
        Turkey       | 1      | 20.00
        Türkiye      | 2      | 6.50
        null         | 1      | 7.00
    """,
)
