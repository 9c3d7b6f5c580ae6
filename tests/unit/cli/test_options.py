"""Values on the command line: names separated by commas, times in UTC, and ranges with both ends."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.options import moment, names
from core.errors import Usage
from tests.support.command import here, write_config


def test_names_are_separated_by_commas() -> None:
    assert names("b, a,b") == ("b", "a")
    with pytest.raises(Usage, match="is not a name"):
        names("a,,b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-14", datetime(2026, 3, 14, tzinfo=UTC)),
        ("2026-03-14T01:02:03", datetime(2026, 3, 14, 1, 2, 3, tzinfo=UTC)),
        ("2026-03-14T01:00:00+02:00", datetime(2026, 3, 13, 23, tzinfo=UTC)),
        ("2026-03-14T01:00:00Z", datetime(2026, 3, 14, 1, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, expected: datetime) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize(
    "words",
    [
        ("--views", "a"),
        ("--from", "2026-03-14", "--to", "2026-03-15"),
        ("--views", "a", "--from", "2026-03-14", "--to", "2026-03-15", "--build", "b000001"),
        ("--views", "a", "--from", "noon", "--to", "2026-03-15"),
        ("--views", "A b", "--from", "2026-03-14", "--to", "2026-03-15"),
    ],
)
def test_a_range_without_both_ends_is_a_usage_error(tmp_path: Path, words: tuple[str, ...]) -> None:
    config = write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data")})
    assert here(config, "build", *words).code == 2
