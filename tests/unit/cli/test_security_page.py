"""What is committed is what the matrices of rights generate."""

from __future__ import annotations

from cli import security_page


def test_the_committed_files_are_those_of_the_matrices() -> None:
    for path, text in security_page.committed_files().items():
        assert path.read_text("utf-8") == text, f"{path}: run `make docs`"


def test_only_the_table_of_the_page_is_replaced() -> None:
    text = "a\n<!-- rights in Trino: written by `make docs` -->\n\n| old |\n\n<!-- /rights in Trino -->\nb\n"
    assert security_page.page_with(text, "rights in Trino", "| new |\n") == text.replace("old", "new")
