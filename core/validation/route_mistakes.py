"""Mistakes in a route that can be found without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from core.position_metadata import LONGEST, fitting_outputs
from core.route import Route
from core.topic import Topic
from core.validation.mistake import Mistake, column_names, mistake_in, name_mistakes, source_mistakes


def route_mistakes(route: Route, topics: Mapping[str, Topic]) -> Iterator[Mistake]:
    """Every mistake of a route; ``topics`` are all topics."""
    yield from name_mistakes(route, route.name)
    yield from source_mistakes(route, topics)
    yield from column_names(route.outputs, "output")
    if not route.outputs:
        yield mistake_in(route, "a route needs at least one output")
    yield from _too_many_outputs(route)
    for output in route.outputs:
        if output.name in topics:
            yield mistake_in(
                output, f"output {output.name!r} is a source topic; choose a topic that only this route writes"
            )
        for when in output.when:
            if when.source not in route.sources:
                yield mistake_in(output, f"when: {when.source!r} is not a source")
        for source, times in Counter(when.source for when in output.when).items():
            if times > 1:
                yield mistake_in(output, f"when: {source!r} is listed twice; join the predicates with or")
    for source in route.sources:
        if source in topics and topics[source].compacted:
            yield mistake_in(route, f"topic {source!r} is compacted: records that compaction removed cannot be copied")
    for output in route.outputs[:-1]:
        if not output.when:
            yield mistake_in(output, "only the last output may be without when: it takes all remaining records")


def _too_many_outputs(route: Route) -> Iterator[Mistake]:
    """Kafka would refuse each commit, and the route would copy nothing, once its counts are long enough."""
    fitting = fitting_outputs([output.name for output in route.outputs])
    if fitting < len(route.outputs):
        yield mistake_in(
            route,
            f"{len(route.outputs)} outputs are too many: Kafka stores their counts with each position in at most "
            f"{LONGEST:,} characters, which has room for the first {fitting}; give the outputs shorter names, or "
            "divide them between two routes",
        )
