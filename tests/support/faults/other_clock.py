"""Programs whose clock is wrong, beside servers whose clock is right."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("other_clock.c")


def preloaded(folder: Path) -> Path:
    """The library that moves the clock of a program. Skips the test where no C compiler is there."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("a clock of its own for a program needs a C compiler (cc), which is not on the PATH")
    library = folder / "other_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


@contextmanager
def clock_off(library: Path, by: timedelta) -> Iterator[None]:
    """Every program that the block starts, and what it starts in turn, has a clock that is off by ``by``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        patch.setenv("CLOCK_STEP", str(int(by.total_seconds())))
        yield
