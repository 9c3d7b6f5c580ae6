"""Replays the log from offset 0 by a new run, and serves the run once it is proven equal to a full build.

On demand; for a schedule, trigger it from a DAG of yours. Nothing that is served changes before the last task. If a
task fails, the new run is kept for another try (clear the failed task) or abandoned: parameter `on_failure`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.exceptions import HITLRejectException, HITLTriggerEventError
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Context, Param, chain, task
from airflow.sdk.exceptions import AirflowFailException

from lk_operators import DEFAULTS, START, LkPublication, LkVerb, LkWait, name, names, whole_number

ARCHIVE = "{{ '--prefix-from-archive' if params.from_archive else '' }}"
RUN = "--run={{ ti.xcom_pull(task_ids='start')['run'] }}"
COMPARED = "{{ ti.xcom_pull(task_ids='compare')['%s'] }}"


class Approval(ApprovalOperator):
    """Waits for a person's approval, and repeats the request if Airflow loses an early response."""

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """The answer; a rejection, or no answer in time, fails without a retry."""
        try:
            return super().execute_complete(context, event)
        except (HITLRejectException, HITLTriggerEventError) as why:
            raise AirflowFailException(f"not approved: {why}") from None


class GiveUp(LkVerb):
    """Runs if a task has failed, and fails too, so that the DAG run counts as failed."""

    def work(self, context: Context) -> Any:
        """Abandons the run that was started, or says that it is kept."""
        if context["params"]["on_failure"] == "abandon" and not self.words[-1].endswith("="):
            self.run_verb(context)
            raise AirflowFailException(f"the replay was abandoned: {self.words[-1]}")
        raise AirflowFailException(f"the replay is kept ({self.words[-1]}): clear the failed task to resume it")


def _summary(views: list[dict[str, Any]]) -> dict[str, Any]:
    return {"build": views[0]["build"], "views": len(views), "keys": sum(view["keys"] for view in views)}


with DAG(
    "kappa_reprocess",
    schedule=None,
    start_date=START,
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
    default_args=DEFAULTS,
    params={
        "run": name("Id of the new run; empty: the next free one, or the replay in progress"),
        "views": names("Only these views; empty: all of them"),
        "rate": whole_number(100_000_000, "Maximum records per second; empty: no limit"),
        "from_archive": Param(False, type="boolean", description="Read records that Kafka deleted from the archive"),
        "approval": Param(True, type="boolean", description="Ask a person before it is served"),
        "on_failure": Param("keep", enum=["keep", "abandon"], description="What happens to the run if a task fails"),
    },
    tags=["lk"],
    doc_md=__doc__,
):

    @task.branch(retries=0)
    def ask(**context: Any) -> str:
        """The next task: the approval by a person, or the switch."""
        return "approval" if context["params"]["approval"] else "switch"

    plan = LkVerb(
        task_id="plan",
        words=["switch", "kappa", "--plan", ARCHIVE],
        keep=lambda plan: {key: plan[key] for key in ("records", "seconds", "bytes")},
    )
    start = LkVerb(
        task_id="start",
        words=[
            *("replay", "start", ARCHIVE),
            "{{ '--run=' ~ params.run if params.run else '' }}",
            "{{ '--rate=' ~ params.rate if params.rate else '' }}",
            "{{ '--views=' ~ params.views | join(',') if params.views else '' }}",
        ],
        keep=lambda state: {"run": state["run"]},
    )
    wait = LkWait(
        task_id="wait",
        words=["replay", "wait", RUN, "--seconds=1"],
        poke_interval=15,
        timeout=timedelta(days=2),
    )
    compare = LkVerb(task_id="compare", words=["compare", RUN], keep=_summary)
    gate = LkVerb(task_id="gate", words=["gate", f"--build={COMPARED % 'build'}"])
    approval = Approval(
        task_id="approval",
        subject="Serve the replayed run {{ ti.xcom_pull(task_ids='start')['run'] }}?",
        body=f"It equals build {COMPARED % 'build'} in {COMPARED % 'keys'} keys of {COMPARED % 'views'} views.",
        fail_on_reject=True,
        response_timeout=timedelta(days=3),
        execution_timeout=None,
    )
    switch = LkPublication(
        task_id="switch",
        words=["switch", "kappa", RUN],
        approved_by="{{ ((ti.xcom_pull(task_ids='approval') or {}).get('responded_by_user') or {}).get('name', '') }}",
        trigger_rule="none_failed_min_one_success",
    )
    give_up = GiveUp(
        task_id="give_up",
        words=["replay", "abandon", "--run={{ (ti.xcom_pull(task_ids='start') or {}).get('run', '') }}"],
        trigger_rule="one_failed",
    )
    approval_or_switch = ask()
    chain(plan, start, wait, compare, gate, approval_or_switch, approval, switch)
    approval_or_switch >> switch
    [plan, start, wait, compare, gate, approval_or_switch, approval, switch] >> give_up
