"""The printed snippets are a Python program and a JDBC URL with the address of the settings; pages print the same."""

from __future__ import annotations

import ast
from urllib.parse import parse_qs, urlsplit

import trino

from flows.demo.connection import PORTS, connection
from infra.project_files import ROOT
from infra.settings import Settings

USUAL = Settings().model_copy(update=PORTS)
DEFAULT_PORTS = {name: Settings.model_fields[name].default for name in PORTS}


def arguments(program: str) -> dict[str, object]:
    """The keyword arguments of the call of ``connect``."""
    calls = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call)]
    (connect,) = [call for call in calls if ast.unparse(call.func) == "trino.dbapi.connect"]
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in connect.keywords}


def test_the_python_program_compiles_and_names_the_address_of_the_settings() -> None:
    for settings in (Settings(), Settings(trino_port=1234)):
        program = connection(settings).python
        compile(program, "snippet", "exec")
        assert all(line == line.lstrip() for line in program.splitlines())
        assert arguments(program) == {
            "host": "127.0.0.1",
            "port": settings.trino_port,
            "user": "me",
            "catalog": "lake",
            "schema": "serving",
        }


def test_the_client_takes_the_arguments_of_the_program() -> None:
    """No server is needed: the client connects at its first query."""
    opened = trino.dbapi.connect(**arguments(connection(Settings()).python))  # type: ignore[no-untyped-call]
    assert opened.cursor() is not None


def test_the_jdbc_url_names_the_address_of_the_settings() -> None:
    settings = Settings(trino_port=1234)
    assert connection(settings).jdbc == "jdbc:trino://127.0.0.1:1234/lake/serving?user=me"
    url = urlsplit(connection(settings).jdbc.removeprefix("jdbc:"))
    trino_url = urlsplit(settings.trino_url)
    assert (url.hostname, url.port) == (trino_url.hostname, trino_url.port)
    assert (url.path, parse_qs(url.query)) == ("/lake/serving", {"user": ["me"]})


def test_the_demos_ports_lie_beside_the_defaults_and_are_none_of_them() -> None:
    three_brokers = Settings(kafka_brokers=3)
    used = {port for broker in three_brokers.brokers for port in broker.ports.values()} | set(DEFAULT_PORTS.values())
    assert not used & set(PORTS.values())
    assert len(set(PORTS.values())) == len(PORTS)
    assert all(abs(port - DEFAULT_PORTS[name]) <= 2 for name, port in PORTS.items())


def test_only_ports_that_are_not_the_usual_ones_are_named() -> None:
    assert connection(USUAL).other_ports == ""
    moved = connection(USUAL.model_copy(update={"trino_port": 20_001, "kafka_port": 20_002})).other_ports
    assert moved == "kafka_port is 20002, as 19094 is in use; trino_port is 20001, as 18082 is in use"


def test_pages_print_the_programs_of_the_demo_and_of_lk_up() -> None:
    query, readme = ((ROOT / page).read_text("utf-8") for page in ("docs/tutorial/analysts.md", "README.md"))
    for page, settings in ((query, Settings()), (readme, USUAL)):
        assert f"```python\n{connection(settings).python}```" in page
        assert f"`{connection(settings).jdbc}`" in page
