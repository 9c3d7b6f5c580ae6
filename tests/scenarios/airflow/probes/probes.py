"""Test DAGs: one waits for a view, one has a task for each exit code, one never ends by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Asset, task

from lk_operators import START, LkVerb

DAY = Asset("lk://serving/trades_by_day")
QUICK = {"retries": 2, "retry_delay": timedelta(seconds=1)}

with DAG("consumer", schedule=[DAY], start_date=START, is_paused_upon_creation=False):

    @task
    def told(**context: Any) -> list[Any]:
        """The extras of the triggering asset events."""
        return [event.extra for event in context["triggering_asset_events"][DAY]]

    told()

with DAG("codes", schedule=None, start_date=START, default_args=QUICK, is_paused_upon_creation=False):
    LkVerb(task_id="done", words=["publications"], keep=len)
    LkVerb(task_id="refused", words=["publish", "--build=b999999"])
    LkVerb(task_id="usage", words=["publish", "--bild=b999999"])
    LkVerb(task_id="try_again", words=["claim"])
    LkVerb(task_id="unwanted", words=["down"], only_if="")

with DAG("endless", schedule=None, start_date=START, is_paused_upon_creation=False):
    LkVerb(
        task_id="endless",
        words=["produce", "trades", "--seed=1", "--rate=1"],
        execution_timeout=timedelta(seconds=8),
    )
