"""Serves again what was served before the last change, at once. On demand."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, chain
from airflow.sdk.exceptions import AirflowFailException

from lk_verb import DEFAULTS, START, WHY, LkPublication, LkVerb, reason


def _newest(publications: list[dict[str, Any]]) -> int:
    done = [one["seq"] for one in publications if one["state"] == "done"]
    if not done:
        raise AirflowFailException("nothing was published yet")
    return int(done[-1])


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
        # Named by a task of its own, so that a retry of the second does not go back from where the first try led.
        LkVerb(task_id="serving", words=["publications"], keep=_newest),
        LkPublication(
            task_id="rollback",
            words=["rollback", "--from={{ ti.xcom_pull(task_ids='serving') }}"],
            why=f"{{{{ params.why ~ ' · ' if params.why else '' }}}}{WHY}",
        ),
    )
