"""Computes a day of some views anew and publishes it: for `airflow backfill create --dag-id range_rebuild …`.

The day is the run's data interval: windows that start in it. Everything else stays as it is served.
"""

from __future__ import annotations

from airflow.sdk import DAG, CronDataIntervalTimetable, chain

from lk_verb import DEFAULTS, START, LkPublication, LkVerb, names

BUILD = "--build={{ ti.xcom_pull(task_ids='build')['build'] }}"

with DAG(
    "range_rebuild",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=START,
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
    params={"views": names("The views to compute anew; without any, a run is skipped")},
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
            wanted="{{ params.views | join(',') }}",
            keep=lambda said: {"build": said[0]["build"]},
        ),
        LkVerb(task_id="gate", words=["gate", BUILD]),
        LkPublication(task_id="publish", words=["publish", BUILD]),
    )
