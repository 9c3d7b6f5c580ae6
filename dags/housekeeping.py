"""Every day: frees what nothing names, tells what is in quarantine, compares what is served with a full build.

With the parameter `retire`, that run is stopped and freed first. Each task stands alone: one that fails stops no other.
"""

from __future__ import annotations

from airflow.sdk import DAG, CronDataIntervalTimetable

from lk_verb import DEFAULTS, START, WHY, LkVerb, name

with DAG(
    "housekeeping",
    schedule=CronDataIntervalTimetable("30 3 * * *", timezone="UTC"),
    start_date=START,
    catchup=False,
    max_active_runs=1,
    max_active_tasks=1,
    default_args=DEFAULTS,
    params={"retire": name("A run to retire; empty: none")},
    tags=["lk"],
    doc_md=__doc__,
):
    LkVerb(
        task_id="retire",
        words=["retire", "{{ params.retire or '' }}", f"--why={WHY}"],
        wanted="{{ params.retire or '' }}",
    )
    LkVerb(
        task_id="cleanup",
        words=["cleanup"],
        keep=lambda said: {"bytes": said["bytes"], "removed": len(said["removed"])},
    )
    LkVerb(task_id="quarantine", words=["quarantine", "digest"], keep=lambda said: said)
    LkVerb(task_id="compare_served", words=["compare", "--served"])
