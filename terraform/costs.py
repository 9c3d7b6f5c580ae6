"""Writes the tables of docs/deploy/cloud.md: what an instance costs per month, by assumed prices.

`--check` only compares. Prices are assumed list prices of us-east-1 at the date on the page: check your own. A month
has 730 hours. Quantities are those of envs/dev.tfvars and envs/prod.tfvars, at the load that the page names.
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
STATUS_CORES = 2  # cores of the job that prints status lines
# Requests of an epoch that affects four views, as docs/deploy/object-store.md counts them.
PUTS, LISTS, READS, DELETES = 19, 38, 180, 2


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
        """Gigabytes of new records in the log per month, without replicas."""
        return Decimal(self.events * self.bytes_each * 3600 * HOURS) / 10**9


LOADS = {
    "dev": Load(events=100, bytes_each=200, speed_cores=4, batch_cores=4, batch_hours=Decimal(1)),
    "prod": Load(events=10_000, bytes_each=200, speed_cores=8, batch_cores=8, batch_hours=Decimal(6)),
}

# item -> (unit, US dollars per unit). Assumed list prices, us-east-1, 2026-11-23.
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
    "S3 Glacier Instant Retrieval": ("GB-month", "0.004"),
    "S3 puts and lists": ("1,000 requests", "0.005"),
    "S3 reads": ("1,000 requests", "0.0004"),
    "CloudTrail": ("100,000 events", "0.10"),
    "key": ("key-month", "1.00"),
    "secret": ("secret-month", "0.40"),
    "logs taken in": ("GB", "0.50"),
    "alarm": ("alarm-month", "0.10"),
}


def variables(name: str) -> dict[str, str]:
    """The variables of an environment, with the root's defaults."""
    defaults = {}
    text = (HERE / "variables.tf").read_text("utf-8")
    for block in re.findall(r'variable "(\w+)" \{(.*?)\n\}', text, re.S):
        default = re.search(r"default\s+= (.+)", block[1])
        defaults[block[0]] = default[1].strip('"') if default else ""
    text = (HERE / "envs" / f"{name}.tfvars").read_text("utf-8")
    return defaults | {key: value.strip('"') for key, value in re.findall(r'^(\w+)\s+= ("[^"]*"|[^ #\n]+)', text, re.M)}


def quantities(name: str) -> list[tuple[str, str, Decimal]]:
    """(item, calculation, units per month)."""
    values, load = variables(name), LOADS[name]
    disk = values["broker_volume_gib"]
    brokers, tasks = int(values["brokers"]), int(values["trino_workers"]) + 1
    cores, memory = Decimal(values["trino_cpu"]) / 1024, Decimal(values["trino_memory"]) / 1024
    batch = load.batch_cores * load.batch_hours * DAYS
    spark = (load.speed_cores + STATUS_CORES) * HOURS + batch
    names = _default("network", "endpoints") + _default("network", "airflow_endpoints")
    endpoints = len(re.findall(r'"[a-z.-]+"', names))
    keys = len(re.findall(r"^    \w+\s+=", _default("keys", "purposes"), re.M))
    stored = load.gb_a_month * 12
    epochs = Decimal(HOURS * 3600)  # at most one a second
    locked = int(values["archive_lock_days"]) > 0
    copy = [("S3 Glacier Instant Retrieval", "the archive's locked copy", stored)] if locked else []
    return [
        (values["broker_type"], f"{brokers} × {HOURS} h", Decimal(brokers * HOURS)),
        ("broker disk", f"{brokers} × {disk} GiB", brokers * Decimal(disk)),
        ("tiered storage", f"12 months of {load.gb_a_month:,.0f} GB", stored),
        (
            "EMR Serverless core",
            f"speed {load.speed_cores} and status {STATUS_CORES} × {HOURS} h, "
            f"batch {load.batch_cores} × {load.batch_hours} h a day",
            spark,
        ),
        ("EMR Serverless memory", "4 GB per core", spark * 4),
        ("Fargate core", f"{tasks} × {cores:.0f} × {HOURS} h", tasks * cores * HOURS),
        ("Fargate memory", f"{tasks} × {memory:.0f} GB × {HOURS} h", tasks * memory * HOURS),
        ("load balancer", f"{HOURS} h", Decimal(HOURS)),
        ("load balancer capacity", f"1 × {HOURS} h", Decimal(HOURS)),
        (values["airflow_class"], f"{HOURS} h", Decimal(HOURS)),
        ("interface endpoint", f"{endpoints} × {ZONES} zones × {HOURS} h", Decimal(endpoints * ZONES * HOURS)),
        ("S3 storage", "archive and views: as much as the log of 12 months", stored),
        *copy,
        ("S3 puts and lists", f"{PUTS} and {LISTS} per epoch, an epoch each second", epochs * (PUTS + LISTS) / 1000),
        ("S3 reads", f"{READS} per epoch", epochs * READS / 1000),
        ("CloudTrail", f"{PUTS} puts and {DELETES} deletes per epoch", epochs * (PUTS + DELETES) / 100_000),
        ("key", f"{keys} keys", Decimal(keys)),
        ("secret", "Kafka's and Trino's", Decimal(4)),
        ("logs taken in", "1 GB a day", DAYS),
        ("alarm", "6 alarms", Decimal(6)),
    ]


def table(name: str) -> tuple[list[str], Decimal]:
    """The lines of an environment's table, and the sum of its costs, each rounded to a dollar."""
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
    """The text between the two marks."""
    lines: list[str] = [""]
    for name in LOADS:
        lines += table(name)[0]
    return "\n".join([*lines, ""])


def current() -> str:
    """The page with current tables."""
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{tables()}{END}{rest.split(END)[1]}"


def _default(module: str, variable: str) -> str:
    text = (HERE / "modules" / module / "variables.tf").read_text("utf-8")
    return text.split(f'variable "{variable}"')[1].split("default")[1].split("\n}")[0]


if __name__ == "__main__":
    page = current()
    outdated = page != PAGE.read_text("utf-8")
    if outdated and "--check" not in sys.argv:
        PAGE.write_text(page, "utf-8")
    print("the costs are current" if not outdated else "the costs were not current; `make cloud-docs` writes them")
    sys.exit(outdated and "--check" in sys.argv)
