"""The rollups among the programs: the merged partial rows of any split equal the oracle."""

from __future__ import annotations

import random
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from core.compute.combine import merge_partials
from core.compute.partial_rows import partial
from core.view import Rollup
from tests.spark.test_keyed import CATALOG, decoded, few, places, same
from tests.support.oracle import program_oracle
from tests.support.records.decoder import Decoder
from tests.support.records.frames import at, dicts, stored
from tests.support.records.program_records import logs

ROLLUPS = sorted(program_oracle.ROLLUPS)


def rows_of(view: Rollup, frame: DataFrame) -> list[program_oracle.Row]:
    return [tuple(v for name, v in row.items() if not name.startswith("_")) for row in dicts(frame)]


def test_every_rollup_among_the_programs_has_an_oracle() -> None:
    program_rollups = {
        name for name, view in CATALOG.views.items() if isinstance(view, Rollup) and "programs" in file_of(name)
    }
    assert program_rollups == {*ROLLUPS, "purchases_by_processing_time"}


def file_of(name: str) -> str:
    return CATALOG.files["view", name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ROLLUPS)
@few
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_a_rollup_of_the_programs_equals_the_oracle(
    spark: SparkSession, decoder: Decoder, name: str, data: st.DataObject, seed: int
) -> None:
    view = CATALOG.view(name)
    assert isinstance(view, Rollup)
    (source,) = view.sources
    log, rng = data.draw(logs(source)), random.Random(seed)
    epochs: list[list[program_oracle.Event]] = [[], [], []]
    for event in log:
        rng.choice(epochs).append(event)
    all_events = decoded(decoder, source, log)
    partials = [stored(spark, partial(view, CATALOG.topic(source), at(all_events, places(epoch)))) for epoch in epochs]
    same(rows_of(view, merge_partials(view, reduce(DataFrame.unionAll, partials))), program_oracle.rows(name, log))
