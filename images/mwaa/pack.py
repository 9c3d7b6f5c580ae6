"""Writes the zip file that Airflow's machines get as plugins, with `lk` in it: ``python images/mwaa/pack.py FILE``."""

import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "infra" / "emr.py"
_SAME = (2026, 1, 1, 0, 0, 0)  # the same file gives the same zip


def pack(target: Path) -> None:
    """The zip; `lk` may be executed where the one who unpacks keeps modes."""
    entry = zipfile.ZipInfo("lk", _SAME)
    entry.external_attr = 0o100755 << 16
    with zipfile.ZipFile(target, "w") as out:
        out.writestr(entry, SOURCE.read_bytes())


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
