"""Verbs that need no pandas do not load it, and who asks for pandas gets it."""

from __future__ import annotations

import subprocess
import sys

from infra.project_files import ROOT

ARRAYS = """
import sys
import infra.lake.delta
import pyarrow as pa
rows = pa.Table.from_pylist([{"a": 1, "b": "x"}, {"a": None, "b": "y"}]).to_pylist()
assert rows == [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]
assert "pandas" not in sys.modules
"""
PANDAS = """
frame = pa.table({"a": [1, 2]}).to_pandas()
assert list(frame["a"]) == [1, 2]
import pandas
assert pa.Table.from_pandas(pandas.DataFrame({"a": [1.5, None]})).to_pylist() == [{"a": 1.5}, {"a": None}]
"""


def in_a_process_of_its_own(code: str) -> None:
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_arrays_are_made_without_pandas_and_pandas_is_there_for_who_asks() -> None:
    in_a_process_of_its_own(ARRAYS + PANDAS)


def test_a_process_that_has_pandas_keeps_it() -> None:
    in_a_process_of_its_own("import pandas\n" + ARRAYS.replace("not in", "in") + PANDAS)
