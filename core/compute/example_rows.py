"""Computes the rows of an example as the layers do: in one build, and as a build plus the epochs of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.compute.combine import merge_partials
from core.compute.keyed_events import pack, unpack
from core.compute.keyed_rows import result_rows, rows_of_units, source_rows, touched_units
from core.compute.partial_rows import combine, partial
from core.topic import Topic
from core.view import Keyed, Rollup, View

Way = Literal["one build", "a build and two epochs"]
Slices = Mapping[str, Sequence[DataFrame]]  # topic -> decoded rows of the build, of epoch 1 and of epoch 2


def ways_of(view: View) -> tuple[Way, ...]:
    """The ways to compute the view's rows; a build alone cannot if the view is not reproducible."""
    return ("one build", "a build and two epochs") if view.reproducible else ("a build and two epochs",)


def example_rows(view: View, topics: Mapping[str, Topic], slices: Slices, way: Way) -> DataFrame:
    """The stored rows of the view; every way must give the same."""
    if way == "one build":
        slices = {topic: [union(frames)] for topic, frames in slices.items()}
        return _keyed_build(view, topics, slices) if isinstance(view, Keyed) else _partial(view, topics, slices, 0)
    if isinstance(view, Keyed):
        return _keyed_build_and_epochs(view, topics, slices)
    return merge_partials(view, union([_partial(view, topics, slices, number) for number in range(3)]))


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows in one partition, which the grouping after it does not have to shuffle."""
    return frames[0] if len(frames) == 1 else reduce(DataFrame.unionByName, frames).coalesce(1)


def _partial(view: Rollup, topics: Mapping[str, Topic], slices: Slices, number: int) -> DataFrame:
    partials = [partial(view, topics[name], frames[number]) for name, frames in slices.items()]
    return partials[0] if len(partials) == 1 else combine(view, union(partials))


def _keyed_build(view: Keyed, topics: Mapping[str, Topic], slices: Slices) -> DataFrame:
    return result_rows(view, {name: source_rows(view, topics[name], frames[0]) for name, frames in slices.items()})


def _keyed_build_and_epochs(view: Keyed, topics: Mapping[str, Topic], slices: Slices) -> DataFrame:
    """A build of the first slice; each epoch recomputes the units that it touches from the events that a run keeps."""
    kept = {
        name: [unpack(view, topics[name], pack(view, topics[name], frame)) for frame in frames]
        for name, frames in slices.items()
    }
    rows = [_keyed_build(view, topics, slices).withColumn("last_epoch", fn.lit(0))]
    for epoch in (1, 2):
        units = touched_units(view, [frames[epoch] for frames in kept.values()])
        results = result_rows(view, {name: union(frames[: epoch + 1]) for name, frames in kept.items()})
        rows.append(rows_of_units(view, units, results).withColumn("last_epoch", fn.lit(epoch)))
    return merge_partials(view, union(rows))
