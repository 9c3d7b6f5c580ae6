"""Results as JSON."""

import json

from cli.output import plain
from infra.definitions.definition_files import load
from infra.project_files import VIEWS
from infra.settings import Settings


def test_definitions_print_as_json_and_a_function_as_its_name() -> None:
    catalog = json.loads(json.dumps(plain(load(Settings(views=(VIEWS / "programs",))))))
    assert catalog["topics"]["orders"]["example"] == "order"
    assert catalog["topics"]["trades"]["example"] == {"records": "trades"}
    assert catalog["topics"]["access_log"]["example"] is None
