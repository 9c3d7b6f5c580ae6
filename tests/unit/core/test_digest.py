"""Changes that change a digest, and changes that do not."""

from dataclasses import replace

import pytest

from core.digest import route_digest, topic_digest, view_digest
from core.identifiers import Name
from core.measures import Count, Max, Min
from core.route import Output, Route, When
from core.topic import Field, Json, Lines, Rule, Topic, Version
from core.view import Check, Explode, Key, Rollup, Shown, Total, View, Window

TOPIC = Topic("t", Json((Version(1, ("a",)),)), (Field("a", "bigint"),), key="a")
VIEW = Rollup("v", ("t",), keys=(Key("k", "a", "bigint"),), measures=(Min("m", "a"),), window=Window("w", 5_000))


def view_of(view: View, topic: Topic = TOPIC) -> str:
    return view_digest(view, {Name("t"): topic})


@pytest.mark.parametrize(
    "other",
    [
        replace(VIEW, comment="words"),
        replace(VIEW, keys=(Key("k", "a", "bigint", comment="words"),)),
        replace(VIEW, measures=(Min("m", "a", comment="words"),)),
        replace(VIEW, shown=(Shown("x", "m + 1"),)),
        replace(VIEW, checks=(Check("c", "m > 0", severity="warning"), Total("t", "sum(m)", "o", "1"))),
        replace(VIEW, allow_empty=True),
    ],
)
def test_comments_presentation_and_checks_do_not_change_a_views_digest(other: View) -> None:
    assert view_of(other) == view_of(VIEW)


@pytest.mark.parametrize(
    "other",
    [
        replace(VIEW, name="other"),
        replace(VIEW, keys=(Key("k", "a + 1", "bigint"),)),
        replace(VIEW, measures=(Max("m", "a"),)),
        replace(VIEW, measures=(Min("m", "a"), Count("n"))),
        replace(VIEW, window=Window("w", 5_000, 1_000)),
        replace(VIEW, window=None),
        replace(VIEW, where="a > 0"),
        replace(VIEW, explode=Explode("e", "array(a)")),
    ],
)
def test_a_change_of_the_computation_changes_a_views_digest(other: View) -> None:
    assert view_of(other) != view_of(VIEW)


@pytest.mark.parametrize(
    "other",
    [
        replace(TOPIC, rules=(Rule("r", "a > 0"),)),
        replace(TOPIC, fields=(Field("a", "bigint", minimum="1"),)),
        replace(TOPIC, format=Json((Version(1, ("a", "b")),))),
        replace(TOPIC, format=Json((Version(1, ("a",), {"a": "trim(a)"}),))),
        replace(TOPIC, format=Lines("(.*)")),
        replace(TOPIC, max_bytes=10),
        replace(TOPIC, key=None),
        replace(TOPIC, compacted=True),
    ],
)
def test_a_change_of_decoding_changes_the_digests_of_the_topic_and_its_views(other: Topic) -> None:
    assert topic_digest(other) != topic_digest(TOPIC)
    assert view_of(VIEW, other) != view_of(VIEW)


def test_partitions_and_comments_do_not_change_a_topics_digest() -> None:
    same = replace(TOPIC, partitions=9, comment="words", fields=(Field("a", "bigint", comment="words"),))
    assert topic_digest(same) == topic_digest(TOPIC)


def test_digests_stay_the_same_across_releases() -> None:
    # Pinned: another value would invalidate every existing archive and build.
    assert topic_digest(TOPIC) == "d37947c949263"
    assert view_of(VIEW) == "d9e26f4d27f12"


def test_what_is_computed_otherwise_by_now_has_another_digest() -> None:
    # Pinned. Before: da2a626bcd9de and d1c4858cc3c73 (another order of a compacted topic), d376cfe959b10 (finer times).
    compacted = replace(TOPIC, compacted=True)
    assert (topic_digest(compacted), view_of(VIEW, compacted)) == ("da5d4eeb62a2d", "dcb0d169ba740")
    assert view_of(replace(VIEW, keys=(Key("k", "a", "timestamp"),))) == "d9fa59a520540"


SPLIT = Route("split", ("t",), (Output("many", (When("t", "a > 5"),), comment="Many"), Output("rest")))


def route_of(route: Route) -> str:
    return route_digest(route, {Name("t"): TOPIC})


def test_a_routes_digest_is_what_it_copies_where() -> None:
    other_comments = replace(
        SPLIT, comment="another", outputs=(replace(SPLIT.outputs[0], comment=""), SPLIT.outputs[1])
    )
    assert route_of(other_comments) == route_of(SPLIT)
    other = replace(SPLIT, outputs=(Output("many", (When("t", "a > 6"),)), SPLIT.outputs[1]))
    reordered = replace(SPLIT, outputs=SPLIT.outputs[::-1])
    assert len({route_of(SPLIT), route_of(other), route_of(reordered)}) == 3
