"""How a client connects to the demo: its ports, a Python program and a JDBC URL, to be copied as they are printed."""

from __future__ import annotations

from dataclasses import dataclass

from infra.settings import Settings

# Beside the defaults of `lk up`, so that both can run. Each is used if it is free.
PORTS = {
    "kafka_port": 19094,
    "kafka_controller_port": 19095,
    "trino_port": 18082,
    "airflow_port": 18083,
    "ui_port": 18086,
}
_QUERY = "select * from traffic_by_hour order by 1, 2 limit 5"
_USER = "me"  # any name: Trino on one machine has no login


@dataclass(frozen=True)
class Connection:
    """Trino's URL, a Python program that queries it, a JDBC URL; and in words the ports that are not the usual ones."""

    trino_url: str
    python: str
    jdbc: str
    other_ports: str


def connection(settings: Settings) -> Connection:
    """The connection to an instance on this machine."""
    moved = [
        f"{name} is {getattr(settings, name)}, as {port} is in use"
        for name, port in PORTS.items()
        if getattr(settings, name) != port
    ]
    return Connection(settings.trino_url, _python(settings), _jdbc(settings), "; ".join(moved))


def _python(settings: Settings) -> str:
    address = f'host="{settings.trino_address}", port={settings.trino_port}, user="{_USER}"'
    return (
        "import trino\n\n"
        f'connection = trino.dbapi.connect({address}, catalog="lake", schema="serving")\n'
        f'print(connection.cursor().execute("{_QUERY}").fetchall())\n'
    )


def _jdbc(settings: Settings) -> str:
    return f"jdbc:trino://{settings.trino_address}:{settings.trino_port}/lake/serving?user={_USER}"
