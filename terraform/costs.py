"""What an instance costs a month, by named price assumptions: writes the tables of docs/deploy/cloud.md.

`--check` only compares. A price is an assumed list price of us-east-1 at the date that the page gives: check yours. A
month has 730 hours. Quantities are those of envs/dev.tfvars and envs/prod.tfvars, at the load that the page names.
Taxes, support, discounts and traffic to other networks are not included.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "deploy" / "cloud.md"
BEGIN, END = "<!-- costs: written by terraform/costs.py -->", "<!-- /costs -->"
HOURS = 730  # of a month
DAYS = Decimal(HOURS) / 24
ZONES = 3
WATCHING = 2  # cores of the job that prints status lines


@dataclass(frozen=True)
class Load:
    """Events per second, bytes of one in the log, cores including drivers: see docs/deploy/sizing.md."""

    events: int
    bytes_each: int
    speed_cores: int
    batch_cores: int
    batch_hours: Decimal

    @property
    def gb_a_month(self) -> Decimal:
        """Of new records in the log, one copy."""
        return Decimal(self.events * self.bytes_each * 3600 * HOURS) / 10**9


LOADS = {
    "dev": Load(events=100, bytes_each=200, speed_cores=4, batch_cores=4, batch_hours=Decimal(1)),
    "prod": Load(events=10_000, bytes_each=200, speed_cores=8, batch_cores=8, batch_hours=Decimal(6)),
}

# Name: US dollars per unit. Assumed list prices, us-east-1, 2026-11-23.
PRICES = {
    "kafka.m7g.large": ("broker-hour", "0.204"),
    "kafka.m7g.xlarge": ("broker-hour", "0.408"),
    "broker disk": ("GB-month", "0.10"),
    "tiered storage": ("GB-month", "0.06"),
    "EMR Serverless core": ("vCPU-hour", "0.052624"),
    "EMR Serverless memory": ("GB-hour", "0.0057785"),
    "Fargate core": ("vCPU-hour", "0.04048"),
    "Fargate memory": ("GB-hour", "0.004445"),
    "load balancer": ("hour", "0.0225"),
    "load balancer capacity": ("LCU-hour", "0.008"),
    "mw1.small": ("environment-hour", "0.49"),
    "mw1.medium": ("environment-hour", "0.74"),
    "interface endpoint": ("zone-hour", "0.01"),
    "S3 storage": ("GB-month", "0.023"),
    "S3 writes": ("1,000 requests", "0.005"),
    "S3 reads": ("1,000 requests", "0.0004"),
    "key": ("key-month", "1.00"),
    "secret": ("secret-month", "0.40"),
    "logs taken in": ("GB", "0.50"),
    "alarm": ("alarm-month", "0.10"),
}


def variables(name: str) -> dict[str, str]:
    """What an environment sets, else the root's defaults."""
    defaults = {}
    text = (HERE / "variables.tf").read_text("utf-8")
    for block in re.findall(r'variable "(\w+)" \{(.*?)\n\}', text, re.S):
        found = re.search(r"default\s+= (.+)", block[1])
        defaults[block[0]] = found[1].strip('"') if found else ""
    text = (HERE / "envs" / f"{name}.tfvars").read_text("utf-8")
    return defaults | {key: value.strip('"') for key, value in re.findall(r'^(\w+)\s+= ("[^"]*"|[^ #\n]+)', text, re.M)}


def quantities(name: str) -> list[tuple[str, str, Decimal]]:
    """(item, how it comes about, units a month)."""
    said, load = variables(name), LOADS[name]
    brokers, tasks = int(said["brokers"]), int(said["trino_workers"]) + 1
    cores, memory = Decimal(said["trino_cpu"]) / 1024, Decimal(said["trino_memory"]) / 1024
    batch = load.batch_cores * load.batch_hours * DAYS
    spark = (load.speed_cores + WATCHING) * HOURS + batch
    names = _default("network", "endpoints") + _default("network", "airflow_endpoints")
    endpoints = len(re.findall(r'"[a-z.-]+"', names))
    keys = len(re.findall(r"^    \w+\s+=", _default("keys", "purposes"), re.M))
    stored = load.gb_a_month * 12
    epochs = Decimal(HOURS * 3600)  # at most one a second
    return [
        (said["broker_type"], f"{brokers} × {HOURS} h", Decimal(brokers * HOURS)),
        ("broker disk", f"{brokers} × {said['broker_volume_gib']} GiB", brokers * Decimal(said["broker_volume_gib"])),
        ("tiered storage", f"12 months of {load.gb_a_month:,.0f} GB", stored),
        (
            "EMR Serverless core",
            f"speed {load.speed_cores} and status {WATCHING} × {HOURS} h, "
            f"batch {load.batch_cores} × {load.batch_hours} h a day",
            spark,
        ),
        ("EMR Serverless memory", "4 GB per core", spark * 4),
        ("Fargate core", f"{tasks} × {cores:.0f} × {HOURS} h", tasks * cores * HOURS),
        ("Fargate memory", f"{tasks} × {memory:.0f} GB × {HOURS} h", tasks * memory * HOURS),
        ("load balancer", f"{HOURS} h", Decimal(HOURS)),
        ("load balancer capacity", f"1 × {HOURS} h", Decimal(HOURS)),
        (said["airflow_class"], f"{HOURS} h", Decimal(HOURS)),
        ("interface endpoint", f"{endpoints} × {ZONES} zones × {HOURS} h", Decimal(endpoints * ZONES * HOURS)),
        ("S3 storage", "archive and views: as much as the log of 12 months", stored),
        ("S3 writes", "10 per epoch, an epoch each second", epochs * 10 / 1000),
        ("S3 reads", "20 per epoch", epochs * 20 / 1000),
        ("key", f"{keys} keys", Decimal(keys)),
        ("secret", "Kafka's and Trino's", Decimal(2)),
        ("logs taken in", "1 GB a day", DAYS),
        ("alarm", "6 alarms", Decimal(6)),
    ]


def table(name: str) -> tuple[list[str], Decimal]:
    """Lines, and their sum, of products rounded to a dollar."""
    load = LOADS[name]
    lines = [
        f"**{name}** (`envs/{name}.tfvars`): {load.events:,} events/s of {load.bytes_each} bytes.",
        "",
        "| item | unit | price, $ | how many | units a month | $ a month |",
        "|---|---|---:|---|---:|---:|",
    ]
    total = Decimal(0)
    for item, how, units in quantities(name):
        unit, price = PRICES[item]
        product = (units * Decimal(price)).quantize(Decimal(1))
        total += product
        lines.append(f"| {item} | {unit} | {price} | {how} | {units:,.0f} | {product:,} |")
    return [*lines, f"| **sum** | | | | | **{total:,}** |", ""], total


def tables() -> str:
    """What stands between the two marks."""
    lines: list[str] = [""]
    for name in LOADS:
        lines += table(name)[0]
    return "\n".join([*lines, ""])


def current() -> str:
    """The page with its tables made anew."""
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{tables()}{END}{rest.split(END)[1]}"


def _default(module: str, variable: str) -> str:
    text = (HERE / "modules" / module / "variables.tf").read_text("utf-8")
    return text.split(f'variable "{variable}"')[1].split("default")[1].split("\n}")[0]


if __name__ == "__main__":
    made = current()
    old = made != PAGE.read_text("utf-8")
    if old and "--check" not in sys.argv:
        PAGE.write_text(made, "utf-8")
    print("the costs are current" if not old else "the costs were not current; `make cloud-docs` writes them")
    sys.exit(old and "--check" in sys.argv)
