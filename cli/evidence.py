"""The verbs that show and measure what the system does: demo, bench, study."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import json_option, load_settings
from cli.output import emit, line


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
    from flows.demo.demo_tables import show
    from flows.demo.run_report import with_report

    result = with_report(run_demo.demo(load_settings()))
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

    FIGURES names some of them (default: all but the long ones: `kept`, `peers`, `growth`, `secured`, `age`, `soak`).
    Exits with 1 if a target is missed.
    """
    from flows.bench import run_bench

    sizes = run_bench.Sizes(epochs=epochs, hours=hours)
    result = run_bench.bench(load_settings(), figures, repeat=repeat, sizes=sizes, write=write)
    emit(result, run_bench.show)
    return 1 if result.missed else 0


def _sizes(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[int, ...]:
    """Records, from a list of millions."""
    try:
        return tuple(int(float(millions) * 1_000_000) for millions in text.split(","))
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is not a list of numbers, such as 1,10") from None


@click.command()
@click.argument("sections", nargs=-1)
@click.option("--sizes", default="1,10", show_default=True, callback=_sizes, help="Millions of records in the log.")
@click.option("--repeat", default=5, show_default=True, help="Number of measurements of each mode and size.")
@click.option("--study", "folder", type=click.Path(path_type=Path), help="Folder of its rows (default: .study).")
@click.option("--label-busy", is_flag=True, help="Measure also while other programs use the machine, and say so.")
@json_option
def study(
    sections: tuple[str, ...], sizes: tuple[int, ...], repeat: int, folder: Path | None, label_busy: bool
) -> None:
    """Compare Lambda and Kappa on fresh instances; keep every row.

    SECTIONS names some of its parts (default: all). It takes hours. A repeated call measures only what is missing.
    """
    from flows.study import run_study
    from flows.study.study_plan import SECTIONS, StudyPlan
    from infra import study_files

    plan = StudyPlan(sizes, repeat, sections or SECTIONS)
    result = run_study.study(load_settings(), plan, folder or study_files.FOLDER, label_busy=label_busy)
    emit(
        result,
        lambda ended: line(f"{ended.measured:,} of {ended.sections:,} sections measured · rows in {ended.folder}"),
    )


COMMANDS = [demo, bench, study]
