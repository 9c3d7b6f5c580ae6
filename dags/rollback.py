"""Serves again what was served before the last change, at once. On demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import DAG, Context, chain
from airflow.sdk.exceptions import AirflowFailException

from lk_operators import DEFAULTS, START, WHY, LkPublication, LkVerb, reason

BEFORE_RUN = " · "  # separates the reason of a person from the DAG run


class LkServing(LkVerb):
    """Returns the number of the publication that this DAG run goes back from.

    A cleared DAG run names the same publication again. Otherwise it would go back from its own rollback.
    """

    template_fields: Sequence[str] = (*LkVerb.template_fields, "dag_run")

    def __init__(self, *, dag_run: str = WHY, **kwargs: Any) -> None:
        super().__init__(words=["publications"], **kwargs)
        self.dag_run = dag_run

    def work(self, context: Context) -> int:
        """The publication that this DAG run left, else the last one."""
        published = [publication for publication in self.run_verb(context) if publication["state"] == "done"]
        if not published:
            raise AirflowFailException("nothing was published yet")
        own = [publication for publication in published if self._is_own(publication)]
        return int(own[-1]["evidence"]["from"] if own else published[-1]["seq"])

    def _is_own(self, publication: dict[str, Any]) -> bool:
        """Whether this DAG run made this rollback."""
        made_by = publication["why"].rpartition(BEFORE_RUN)[2]
        return bool(publication["kind"] == "rollback" and made_by == self.dag_run)


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
        LkServing(task_id="serving"),
        LkPublication(
            task_id="rollback",
            words=["rollback", "--from={{ ti.xcom_pull(task_ids='serving') }}"],
            why=f"{{{{ params.why ~ '{BEFORE_RUN}' if params.why else '' }}}}{WHY}",
        ),
    )
