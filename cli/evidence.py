"""The verbs that show what the system does: demo, bench."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import json_option, load_settings
from cli.output import emit


@click.command()
@click.option("--airflow", is_flag=True, help="Airflow publishes on a schedule and runs a whole reprocess.")
@json_option
def demo(airflow: bool) -> int:
    """Run real data through a fresh instance; check every number.

    Exits with 1 if a number is wrong or a reader got a wrong answer. The servers keep running.
    """
    if airflow:
        return _demo_airflow()
    from flows.demo import run_demo
    from flows.demo.report import show

    result = run_demo.demo(load_settings())
    emit(result, show)
    return 1 if result.problems else 0


def _demo_airflow() -> int:
    from flows.demo.airflow import demo_airflow
    from flows.demo.airflow_report import show

    result = demo_airflow(load_settings())
    emit(result, show)
    return 1 if result.problems else 0


@click.command()
@click.argument("figures", nargs=-1)
@click.option("--repeat", default=3, show_default=True, help="Number of measurements of each figure.")
@click.option("--epochs", default=7_000_000, show_default=True, help="Epochs of an aged instance, for `age`.")
@click.option("--hours", default=2.0, show_default=True, help="Hours of `soak`.")
@click.option("--write", type=click.Path(path_type=Path), help="Write the figures into this Markdown file.")
@json_option
def bench(figures: tuple[str, ...], repeat: int, epochs: int, hours: float, write: Path | None) -> int:
    """Measure the benchmark figures on fresh instances.

    FIGURES names some of them (default: all but `age` and `soak`, which take hours).
    Exits with 1 if a target is missed.
    """
    from flows.bench import run_bench

    sizes = run_bench.Sizes(epochs=epochs, hours=hours)
    result = run_bench.bench(load_settings(), figures, repeat=repeat, sizes=sizes, write=write)
    emit(result, run_bench.show)
    return 1 if result.missed else 0


COMMANDS = [demo, bench]
