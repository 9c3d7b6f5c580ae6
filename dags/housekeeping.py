"""Every day: deletes what nothing uses, counts quarantined records, compares what is served with a full build.

The parameter `retire` names a run that is stopped and deleted first. A task that fails stops no other.
"""

from __future__ import annotations

from airflow.sdk import DAG, CronDataIntervalTimetable

from lk_operators import DEFAULTS, START, WHY, LkVerb, name

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
        only_if="{{ params.retire or '' }}",
    )
    LkVerb(
        task_id="cleanup",
        words=["cleanup"],
        keep=lambda result: {"bytes": result["bytes"], "removed": len(result["removed"])},
    )
    LkVerb(task_id="quarantine", words=["quarantine", "counts"], keep=lambda result: result)
    LkVerb(task_id="compare_served", words=["compare", "--served"])
