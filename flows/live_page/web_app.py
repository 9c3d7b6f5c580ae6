"""The web application of the live page, and its server on loopback. It reads only, and keeps Trino's reports."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment

from core.errors import Refused
from flows.live_page import metrics, runbooks, slow_pages, words
from flows.live_page.answers import not_found, page_of, unavailable
from flows.live_page.chart_library import ChartLibrary
from flows.live_page.collector import Collector, Rendered
from flows.live_page.guard import HEALTH, METRICS, NAMES, VEGA, Guard
from flows.live_page.query_log import LARGEST, QueryLog
from flows.live_page.view_page import ViewPages
from infra import airflow_api
from infra.html_templates import html_templates
from infra.local import airflow_server, local_processes, ui_server
from infra.project_files import RUNBOOKS
from infra.quality import data_docs_paths
from infra.settings import LOOPBACK, PREFIX, Settings
from infra.settings.local_secrets import local_secrets
from infra.settings.password_files import AGAIN, read_password
from infra.trino import query_reports

_FOLDER = Path(__file__).parent
_ENDED = PlainTextResponse("the state is not read any more: read `lk logs ui`\n", 503)
_QUALITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"


def serve(settings: Settings) -> None:
    """Serves the page until SIGINT or SIGTERM. Raises Refused when the port is in use."""
    collector = Collector(settings)
    listening = _listen(settings)
    collector.start()
    config = uvicorn.Config(
        Guard(web_app(settings, collector), NAMES, *_passwords(settings)),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run([listening])


def web_app(settings: Settings, collector: Collector) -> FastAPI:
    """Every page of the application; it needs ``Guard`` around it."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    templates = _templates(settings)
    _add_live_page(app, settings, collector, templates)
    _add_numbers(app, collector)
    _add_views_and_runbooks(app, settings, collector, templates)
    slow_pages.add(app, settings, templates)
    _add_query_log(app, QueryLog(settings))
    app.mount("/static", StaticFiles(directory=_FOLDER / "static"))
    app.mount("/quality", _QualityPages(directory=data_docs_paths.folder(settings), html=True, check_dir=False))
    return app


def _add_live_page(app: FastAPI, settings: Settings, collector: Collector, templates: Environment) -> None:
    """The page, the document that it asks for every two seconds, and its charts."""
    charts = ChartLibrary()

    @app.get("/")
    def index() -> HTMLResponse:
        collector.look()
        return page_of(templates.get_template("index.html").render(snapshot=collector.snapshot, links=_links(settings)))

    @app.get("/page.json")
    async def page(request: Request) -> Response:
        collector.look()
        return _ENDED if collector.has_ended else _answer(request, collector.page, "application/json")

    @app.get("/history.json")
    async def history(request: Request) -> Response:
        return _answer(request, collector.history, "application/json")

    @app.get(VEGA)
    async def vega(request: Request) -> Response:
        try:
            return _answer(request, Rendered.of(await charts.script()), "text/javascript")
        except (OSError, subprocess.SubprocessError) as error:
            return unavailable(f"the charts have no library: {error}")


def _add_numbers(app: FastAPI, collector: Collector) -> None:
    """What programs read: the metrics, and whether the server is there."""

    @app.get(METRICS)
    def prometheus(request: Request) -> Response:  # in a thread: of many partitions it takes a while
        if collector.has_ended:
            return _ENDED
        exposed = collector.failure or collector.metrics()  # a scrape takes what it gets for the numbers of this moment
        if isinstance(exposed, str):
            return PlainTextResponse(f"{exposed}\n", 503)
        return _answer(request, exposed, metrics.CONTENT_TYPE)

    @app.get(HEALTH)
    async def health() -> PlainTextResponse:
        return _ENDED if collector.has_ended else PlainTextResponse("ok\n")


def _add_views_and_runbooks(app: FastAPI, settings: Settings, collector: Collector, templates: Environment) -> None:
    views = ViewPages(settings)

    @app.get("/view/{name}")
    def view(name: str) -> Response:
        collector.look()
        try:
            shown = views.page(name, collector.snapshot)
        except Refused as error:
            return not_found(error)
        return page_of(templates.get_template("view.html").render(page=shown, at=collector.snapshot.at))

    @app.get(runbooks.PATH + "/{name}")
    def what_to_do(name: str) -> Response:
        shown = runbooks.runbook(RUNBOOKS, name)
        if shown is None:
            return PlainTextResponse("there is no such runbook\n", 404)
        return page_of(templates.get_template("runbook.html").render(page=shown))


def _add_query_log(app: FastAPI, query_log: QueryLog) -> None:
    """Where Trino reports each finished query."""

    @app.post(query_reports.PATH)
    async def finished_query(request: Request) -> Response:
        if not query_log.is_from_trino(request.headers.get("authorization", "")):
            return PlainTextResponse("only Trino reports queries here\n", 403)
        if int(request.headers.get("content-length", "0")) > LARGEST:
            return PlainTextResponse("the report is too large\n", 413)
        query_log.add(await request.json())
        return Response(status_code=204)


class _QualityPages(StaticFiles):
    """The Data Docs of the gate: files that load nothing, with their style inside."""

    async def check_config(self) -> None:
        """Nothing: before the first gate there is no folder, and a page of it is one that does not exist."""

    def file_response(self, *arguments: object, **named: object) -> Response:
        response = super().file_response(*arguments, **named)  # type: ignore[arg-type]
        response.headers["content-security-policy"] = _QUALITY_POLICY
        return response


def _answer(request: Request, rendered: Rendered, media_type: str) -> Response:
    """The bytes, or nothing if the browser has them."""
    headers = {"etag": rendered.etag}
    if request.headers.get("if-none-match") == rendered.etag:
        return Response(status_code=304, headers=headers)
    return Response(rendered.body, media_type=media_type, headers=headers)


def _links(settings: Settings) -> dict[str, str]:
    """Pages of other servers: name -> URL."""
    links = {
        "The first five minutes on call": f"{runbooks.PATH}/first-five-minutes",
        "Trino": f"{settings.trino_url}/ui/",
    }
    if local_processes.recorded(settings, airflow_server.NAME):
        links["Airflow"] = airflow_api.url(settings)
    return links


def _templates(settings: Settings) -> Environment:
    templates = html_templates(_FOLDER / "templates")
    templates.globals["lk"] = settings.command
    templates.filters |= {"utc": words.utc, "count": words.count, "seconds": words.seconds}
    return templates


def _passwords(settings: Settings) -> tuple[str, ...]:
    """The passwords of the page and of its metrics in the secured profile, else none."""
    secrets = local_secrets(settings.data)
    files = (secrets.page_password, secrets.metrics_password) if secrets else ()
    return tuple(read_password(file, "a password of this page", AGAIN) for file in files)


def _listen(settings: Settings) -> socket.socket:
    local_processes.require_free(ui_server.NAME, "ui_port", settings.ui_port)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, settings.ui_port))
        listening.listen()  # with SO_REUSEADDR a second one may bind, too, until the first listens
    except OSError as error:
        raise Refused(
            f"port {settings.ui_port} cannot be used: {error.strerror}",
            where=LOOPBACK,
            fix=f"set another port: ui_port ({PREFIX}UI_PORT)",
        ) from None
    return listening
