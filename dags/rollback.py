"""Serves again what was served before the last change, at once. On demand."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, chain
from airflow.sdk.exceptions import AirflowFailException

from lk_operators import DEFAULTS, START, WHY, LkPublication, LkVerb, reason


def _last_publication(publications: list[dict[str, Any]]) -> int:
    published = [publication["seq"] for publication in publications if publication["state"] == "done"]
    if not published:
        raise AirflowFailException("nothing was published yet")
    return int(published[-1])


with DAG(
    "rollback",
    schedule=None,
    start_date=START,
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
    default_args=DEFAULTS,
    params={"why": reason("Recorded with the publication")},
    tags=["lk"],
    doc_md=__doc__,
):
    chain(
        # A task of its own reads the number, so that a retry of the rollback does not roll back twice.
        LkVerb(task_id="serving", words=["publications"], keep=_last_publication),
        LkPublication(
            task_id="rollback",
            words=["rollback", "--from={{ ti.xcom_pull(task_ids='serving') }}"],
            why=f"{{{{ params.why ~ ' · ' if params.why else '' }}}}{WHY}",
        ),
    )
