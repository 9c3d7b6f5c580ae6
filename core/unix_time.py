"""Where timestamps count from."""

from __future__ import annotations

from datetime import UTC, datetime

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
