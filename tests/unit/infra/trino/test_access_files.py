"""The table of rights has every cell; a local Trino gets its own publisher."""

from __future__ import annotations

import json
from pathlib import Path

from infra.trino import access_files
from infra.trino.access_rules import read_access


def test_the_page_has_a_row_for_each_right() -> None:
    table = access_files.rights_table(read_access("lk")).splitlines()
    assert table[0] == "| right | publisher | engineer | admin | analyst |"
    assert "| `lake.serving` | own | read | read | read |" in table
    assert "| `lake.archive` | own | read | none | none |" in table
    assert "| CALL `lake.system.register_table` | yes | no | no | no |" in table
    assert "| see and kill queries of others | no | no | yes | no |" in table
    assert "| see personal data in `lake.serving` | yes | yes | no | no |" in table
    assert len(table) == 20


def test_a_local_trino_has_the_publisher_of_its_settings(tmp_path: Path) -> None:
    config = access_files.write_local(tmp_path / "etc", "me")
    assert config == {
        "access-control.config-files": tmp_path / "etc" / "access-control.properties",
        "query.max-execution-time": "1h",
        "spill-enabled": "true",
        "spill-encryption-enabled": "true",
        "query-max-spill-per-node": "10GB",
        "max-spill-per-node": "20GB",
        "spiller-spill-path": tmp_path / "spill",
    }
    assert (tmp_path / "etc" / "access-control.properties").read_text("utf-8") == (
        f"access-control.name=file\nsecurity.config-file={tmp_path}/etc/rules.json\n"
    )
    rules = json.loads((tmp_path / "etc" / "rules.json").read_text("utf-8"))
    assert rules["catalogs"][0] == {"user": "me", "catalog": "lake|system", "allow": "all"}
    groups = json.loads((tmp_path / "etc" / "resource-groups.json").read_text("utf-8"))
    assert groups["selectors"][0] == {"user": "me", "group": "publisher"}
