"""The log again from offset zero, by a new run that is proven equal to a full build before it is served.

On demand. For a schedule of its own, let a DAG of yours trigger it. Nothing that is served changes before the last
task; when one fails, the new run is kept for another try (clear the failed task), or abandoned: parameter `on_failure`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.exceptions import HITLRejectException, HITLTriggerEventError
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Context, Param, chain, task
from airflow.sdk.exceptions import AirflowFailException

from lk_verb import DEFAULTS, START, LkPublication, LkVerb, LkWait, name, names, whole_number

ARCHIVE = "{{ '--prefix-from-archive' if params.from_archive else '' }}"
RUN = "--run={{ ti.xcom_pull(task_ids='start')['run'] }}"
COMPARED = "{{ ti.xcom_pull(task_ids='compare')['%s'] }}"


class Approval(ApprovalOperator):
    """Asks a person, and again when Airflow has lost the answer: one given at once, before its scheduler looked."""

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """What the person said; a rejection, or no answer in time, is never asked for again."""
        try:
            return super().execute_complete(context, event)
        except (HITLRejectException, HITLTriggerEventError) as why:
            raise AirflowFailException(f"not approved: {why}") from None


class GiveUp(LkVerb):
    """Runs when a task has failed, and fails too: what began and did not end well stays so."""

    def work(self, context: Context) -> Any:
        """Abandons the run that was started, or says that it is kept."""
        if context["params"]["on_failure"] == "abandon" and not self.words[-1].endswith("="):
            self.run_verb()
            raise AirflowFailException(f"the replay was abandoned: {self.words[-1]}")
        raise AirflowFailException(
            f"the replay is kept ({self.words[-1]}): clear the task that failed to go on with it"
        )


def _compared(said: list[dict[str, Any]]) -> dict[str, Any]:
    return {"build": said[0]["build"], "views": len(said), "keys": sum(one["keys"] for one in said)}


with DAG(
    "kappa_reprocess",
    schedule=None,
    start_date=START,
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
    default_args=DEFAULTS,
    params={
        "run": name("Id of the new run; empty: the next free one, or the replay that was begun"),
        "views": names("Only these views; empty: all of them"),
        "rate": whole_number(100_000_000, "Most records a second; empty: as fast as it goes"),
        "from_archive": Param(False, type="boolean", description="Read from the archive what the log has lost"),
        "approval": Param(True, type="boolean", description="Ask a person before it is served"),
        "on_failure": Param("keep", enum=["keep", "abandon"], description="What becomes of the new run then"),
    },
    tags=["lk"],
    doc_md=__doc__,
):

    @task.branch(retries=0)
    def ask(**context: Any) -> str:
        """Whether a person is asked."""
        return "approval" if context["params"]["approval"] else "switch"

    plan = LkVerb(
        task_id="plan",
        words=["switch", "kappa", "--plan", ARCHIVE],
        keep=lambda said: {key: said[key] for key in ("records", "seconds", "bytes")},
    )
    start = LkVerb(
        task_id="start",
        words=[
            *("replay", "start", ARCHIVE),
            "{{ '--run=' ~ params.run if params.run else '' }}",
            "{{ '--rate=' ~ params.rate if params.rate else '' }}",
            "{{ '--views=' ~ params.views | join(',') if params.views else '' }}",
        ],
        keep=lambda said: {"run": said["run"]},
    )
    wait = LkWait(
        task_id="wait",
        words=["replay", "wait", RUN, "--seconds=1"],
        poke_interval=15,
        timeout=timedelta(days=2),
    )
    compare = LkVerb(task_id="compare", words=["compare", RUN], keep=_compared)
    gate = LkVerb(task_id="gate", words=["gate", f"--build={COMPARED % 'build'}"])
    approval = Approval(
        task_id="approval",
        subject="Serve the replayed run {{ ti.xcom_pull(task_ids='start')['run'] }}?",
        body=f"It equals build {COMPARED % 'build'} in {COMPARED % 'keys'} keys of {COMPARED % 'views'} views.",
        fail_on_reject=True,
        response_timeout=timedelta(days=3),
        execution_timeout=None,
    )
    switch = LkPublication(task_id="switch", words=["switch", "kappa", RUN], trigger_rule="none_failed_min_one_success")
    give_up = GiveUp(
        task_id="give_up",
        words=["replay", "abandon", "--run={{ (ti.xcom_pull(task_ids='start') or {}).get('run', '') }}"],
        trigger_rule="one_failed",
    )
    asked = ask()
    chain(plan, start, wait, compare, gate, asked, approval, switch)
    asked >> switch
    [plan, start, wait, compare, gate, asked, approval, switch] >> give_up
