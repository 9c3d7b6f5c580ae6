"""The secrets of the local Airflow: made at its first start, renewed as a whole by `lk rotate`."""

from __future__ import annotations

import json
from pathlib import Path

from infra import airflow_api
from infra.local import airflow_server
from infra.settings import Settings


def secrets(settings: Settings) -> dict[str, str]:
    """Every secret by name."""
    home = airflow_api.home(settings)
    files = [json.loads((home / name).read_text("utf-8")) for name in ("secrets.json", "passwords.json")]
    return {name: value for values in files for name, value in values.items()}


def test_all_are_renewed_but_the_key_of_what_its_database_keeps(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    server = airflow_server.server(settings)
    server.prepare()
    before = secrets(settings)
    assert before.keys() == {"admin", "api", "fernet", "jwt"}
    airflow_server.renew_secrets(settings)
    server.prepare()  # as its next start
    after = secrets(settings)
    assert after.keys() == before.keys()
    assert [name for name in before if before[name] == after[name]] == ["fernet"]
    assert min(len(after[name]) for name in ("admin", "api", "jwt")) >= 24
    config = (airflow_api.home(settings) / "airflow.cfg").read_text("utf-8")
    assert [text in config for text in (before["jwt"], before["api"], after["jwt"], after["api"])] == [False] * 2 + [
        True
    ] * 2
    modes = {path.stat().st_mode & 0o777 for path in airflow_api.home(settings).glob("*.json")}
    assert modes == {0o600}


def test_an_instance_without_airflow_gets_no_files(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    airflow_server.renew_secrets(settings)
    assert not airflow_api.home(settings).exists()
