"""A file of a password gives its line, and is refused by name when it holds none or cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import Refused
from infra.settings.password_files import AGAIN, read_password


def test_the_end_of_the_line_is_no_part_of_the_password(tmp_path: Path) -> None:
    (tmp_path / "ui").write_text(" a b \r\n", "utf-8")
    assert read_password(tmp_path / "ui", "the password", AGAIN) == " a b "


@pytest.mark.parametrize("content", ["", "\n", " \r\n"])
def test_an_empty_password_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "ui"
    file.write_text(content, "utf-8")
    with pytest.raises(Refused) as refused:
        read_password(file, "a password of this page", AGAIN)
    assert refused.value.what == "a password of this page is empty"
    assert refused.value.where == str(file)
    assert refused.value.fix == f"write the password into the file, or {AGAIN}"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="a password of this page cannot be read: No such file"):
        read_password(tmp_path / "ui", "a password of this page", AGAIN)
    (tmp_path / "ui").write_bytes(b"\xe9")
    with pytest.raises(Refused, match="a password of this page cannot be read: it is not text"):
        read_password(tmp_path / "ui", "a password of this page", AGAIN)
