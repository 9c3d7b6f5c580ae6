"""Pages that take a while: records and plans. The server makes one of each kind at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from jinja2 import Environment

from core.errors import LkError, TryAgain
from flows.live_page import plan_page
from flows.live_page.answers import not_found, page_of, unavailable
from flows.live_page.trace_rows import page_with_rows
from infra.settings import Settings


def add(app: FastAPI, settings: Settings, templates: Environment) -> None:
    """The pages of a record, and that of the planner."""
    _add_records(app, settings, templates)
    _add_planner(app, templates)


def _add_records(app: FastAPI, settings: Settings, templates: Environment) -> None:
    """The page of a record, without and with its rows in views."""
    one_trace = threading.Lock()  # each one reads Kafka and the lake
    one_with_rows = threading.Lock()  # each one starts Spark

    def record_page(lock: threading.Lock, read: Callable[[], object]) -> Response:
        return _one_at_a_time(lock, "record", lambda: page_of(templates.get_template("trace.html").render(page=read())))

    @app.get("/trace/{topic}/{partition}/{offset}")
    def trace(topic: str, partition: int, offset: int) -> Response:
        from flows.live_page.trace_page import trace_page  # imports Spark's types, which other pages do not need

        return record_page(one_trace, lambda: trace_page(settings, topic, partition, offset))

    @app.get("/trace/{topic}/{partition}/{offset}/rows")
    def rows(topic: str, partition: int, offset: int) -> Response:
        return record_page(one_with_rows, lambda: page_with_rows(settings, topic, partition, offset))

    @app.get("/trace")
    def find(topic: str, partition: int, offset: int) -> Response:
        return RedirectResponse(f"/trace/{quote(topic, safe='')}/{partition}/{offset}")


def _add_planner(app: FastAPI, templates: Environment) -> None:
    """The form of the planner, and both modes for what it says."""
    one_plan = threading.Lock()  # each one looks for the break-even of every setting, which is all arithmetic

    @app.get(plan_page.PATH)
    def plan(request: Request) -> Response:
        given = request.query_params
        template = templates.get_template("plan.html")
        return _one_at_a_time(one_plan, "plan", lambda: page_of(template.render(page=plan_page.plan_page(given))))


def _one_at_a_time(lock: threading.Lock, what: str, answer: Callable[[], Response]) -> Response:
    if not lock.acquire(blocking=False):  # a thread that waits is missing for the other pages
        return unavailable(f"another {what} is being made now: try again in some seconds")
    try:
        return answer()
    except TryAgain as error:
        return unavailable(str(error))
    except LkError as error:
        return not_found(error)
    finally:
        lock.release()
