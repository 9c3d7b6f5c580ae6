"""Computes one day of some views again and publishes it: for `airflow backfill create --dag-id range_rebuild …`.

The day is the data interval of the DAG run: all windows that start in it. Everything else stays as it is.
"""

from __future__ import annotations

from airflow.sdk import DAG, CronDataIntervalTimetable, chain

from lk_operators import DEFAULTS, START, LkPublication, LkVerb, names

BUILD = "--build={{ ti.xcom_pull(task_ids='build')['build'] }}"

with DAG(
    "range_rebuild",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=START,
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
    params={"views": names("The views to compute again; if empty, the run is skipped")},
    tags=["lk"],
    doc_md=__doc__,
):
    chain(
        LkVerb(
            task_id="build",
            words=[
                *("build", "--views={{ params.views | join(',') }}"),
                *("--from={{ data_interval_start | ts }}", "--to={{ data_interval_end | ts }}"),
            ],
            only_if="{{ params.views | join(',') }}",
            keep=lambda built: {"build": built[0]["build"]},
        ),
        LkVerb(task_id="gate", words=["gate", BUILD]),
        LkPublication(task_id="publish", words=["publish", BUILD]),
    )
