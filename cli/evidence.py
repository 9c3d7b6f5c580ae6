"""The verbs that show the system: demo, demo-airflow and bench."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import json_option, settings
from cli.output import emit


@click.command()
@json_option
def demo() -> int:
    """Starts a fresh instance, sends real data through it, and shows that it comes back exact."""
    from flows.demo.report import show
    from flows.demo.run_demo import demo as run

    found = run(settings())
    emit(found, show)
    return 1 if found.problems else 0


@click.command("demo-airflow")
@json_option
def demo_airflow() -> int:
    """Starts a fresh instance in which Airflow publishes on its schedule and runs a whole reprocess."""
    from flows.demo.airflow import demo_airflow as run
    from flows.demo.airflow_report import show

    found = run(settings())
    emit(found, show)
    return 1 if found.problems else 0


@click.command()
@click.argument("figures", nargs=-1)
@click.option("--repeat", default=3, show_default=True, help="Measure each figure this many times.")
@click.option("--write", type=click.Path(path_type=Path), help="Write the figures into this Markdown file.")
@json_option
def bench(figures: tuple[str, ...], repeat: int, write: Path | None) -> int:
    """Measures FIGURES (default: all) on fresh instances, with their spread."""
    from flows.bench.run_bench import bench as run
    from flows.bench.run_bench import show

    found = run(settings(), figures, repeat=repeat, write=write)
    emit(found, show)
    return 1 if found.missed else 0


COMMANDS = [demo, demo_airflow, bench]
