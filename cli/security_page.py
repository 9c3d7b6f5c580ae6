"""Writes what is generated from the matrices of rights: the tables of docs/security.md and the files of Trino's image.

``python -m cli.security_page`` writes them. The matrices are infra/trino/access.toml and infra/kafka/access.toml.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from infra.kafka import acls, quotas
from infra.project_files import ROOT
from infra.settings import Settings
from infra.trino import access_files
from infra.trino.access_rules import read_access

IMAGE = ROOT / "images" / "trino"
PAGE = ROOT / "docs" / "security.md"


def committed_files() -> Mapping[Path, str]:
    """The text of each committed file, for the default publisher."""
    access = read_access(Settings.model_fields["trino_user"].default)
    tables = {
        "rights in Trino": access_files.rights_table(access),
        "rights in Kafka": acls.rights_table(acls.read_rights()),
        "quotas in Kafka": quotas.quotas_table(quotas.read_quotas(acls.ACCESS_FILE)),
    }
    page = PAGE.read_text("utf-8")
    for name, table in tables.items():
        page = page_with(page, name, table)
    return {IMAGE / name: text for name, text in access_files.image_files(access).items()} | {PAGE: page}


def page_with(text: str, name: str, table: str) -> str:
    """The text of a page with this table between the marks of ``name``."""
    begin, end = f"<!-- {name}: ", f"<!-- /{name} -->"
    before, mark, rest = text.partition(begin)
    writer, _, rest = rest.partition("\n")
    return before + mark + writer + "\n\n" + table + "\n" + end + rest.partition(end)[2]


if __name__ == "__main__":
    for path, content in committed_files().items():
        path.write_text(content, "utf-8")
