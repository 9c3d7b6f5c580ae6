"""The verb that compares the costs of both modes: plan."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import Decorator, json_option, study_option
from cli.output import emit
from core.evidence.workload import Prices, Workload


def _input(option: str, default: float, text: str, *name: str) -> Decorator:
    return click.option(option, *name, type=float, default=default, show_default=True, help=text)


@click.command()
@_input("--events", Workload.events_per_second, "Events per second.")
@_input("--bytes", Workload.bytes_per_event, "Compressed bytes of an event in the log, one replica.", "size")
@_input("--history-days", Workload.history_days, "Days that a correction must reach back.")
@_input("--retention-days", Workload.retention_days, "Days that Lambda keeps the log; Kappa keeps the history.")
@_input("--rule-changes", Workload.rule_changes, "Changes of a view's rule per month.")
@_input("--late", Workload.late_share, "Share of late events.")
@_input("--batches", Workload.batches_per_day, "Batches per day.")
@_input("--cores", Workload.cores, "Cores of a batch or a replay, beside the live run.")
@_input("--core-price", Prices.core_hour, "Price of a core hour: EMR Serverless with 4 GB.")
@_input("--gb-price", Prices.gb_month, "Price of a GB-month in the object store: S3.")
@_input("--log-gb-price", Prices.log_gb_month, "Price of a GB-month of the log: broker disk.")
@_input("--log-replicas", Prices.log_replicas, "Replicas of the log.")
@study_option(".study, else the study that comes with the project")
@click.option(
    "--study-cores",
    type=click.FloatRange(min=0, min_open=True),
    default=2,
    show_default=True,
    help="Cores of the machine of the study.",
)
@json_option
def plan(
    events: float,
    size: float,
    history_days: float,
    retention_days: float,
    rule_changes: float,
    late: float,
    batches: float,
    cores: float,
    core_price: float,
    gb_price: float,
    log_gb_price: float,
    log_replicas: float,
    study: Path | None,
    study_cores: float,
) -> None:
    """Compare the costs of both modes for a workload.

    Computes dollars a month, freshness, the time of a correction and disk from what the study measured, and the value
    of each setting at which both modes cost the same. Prices are those of docs/deploy/cloud.md: assumed list prices
    of us-east-1 in terraform/costs.py. docs/plan.md has the formula.
    """
    from flows.plan import plan_tables, run_plan

    workload = Workload(events, size, history_days, retention_days, rule_changes, late, batches, cores)
    prices = Prices(core_price, gb_price, log_gb_price, log_replicas)
    emit(run_plan.run_plan(workload, prices, study, study_cores=study_cores), plan_tables.show)


COMMANDS = [plan]
