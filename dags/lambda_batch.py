"""The batch layer on a schedule: claim a cut, land the log, build every view, gate, publish.

While Kappa serves, which needs no build, it skips. If the log has no new records since the last publication, it
publishes nothing and emits no Asset.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, Param, chain
from airflow.sdk.exceptions import AirflowSkipException

from lk_operators import DEFAULTS, START, LkPublication, LkVerb

BUILD = "--build={{ ti.xcom_pull(task_ids='claim')['build'] }}"


def _not_in_kappa(publications: list[dict[str, Any]]) -> None:
    completed = [publication for publication in publications if publication["state"] == "done"]
    modes = {pin["mode"] for pin in completed[-1]["pins"].values()} if completed else set()
    if "kappa" in modes and not modes & {"lambda", "batch"}:
        raise AirflowSkipException("Kappa serves, which needs no build")


with DAG(
    "lambda_batch",
    schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC"),
    start_date=START,
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
    params={
        "incremental": Param(
            False, type="boolean", description="Add new records to the last build, where that is exact"
        )
    },
    tags=["lk"],
    doc_md=__doc__,
):
    chain(
        LkVerb(task_id="mode", words=["publications"], keep=_not_in_kappa),
        LkVerb(task_id="claim", words=["claim"], keep=lambda claim: {"build": claim["build"]}),
        LkVerb(task_id="land", words=["land", BUILD]),
        LkVerb(task_id="build", words=["build", BUILD, "{{ '--incremental' if params.incremental else '' }}"]),
        LkVerb(task_id="gate", words=["gate", BUILD]),
        LkPublication(task_id="publish", words=["publish", BUILD]),
    )
