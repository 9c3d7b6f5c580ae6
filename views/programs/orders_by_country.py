"""Lookup table: orders per country, by the country's name at the time of the order."""

from pathlib import Path

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
