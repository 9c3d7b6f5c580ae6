"""A topic that nobody has written to is empty: it stops no build."""

from pyspark.sql import SparkSession

from batch.claim import claim
from batch.land import land
from core.catalog import Catalog
from infra.lake import delta, table_paths
from infra.settings import Settings
from tests.support.layers import catalog_of, passed, send


def test_views_of_a_topic_without_records_are_built_empty(stack: Settings, spark: SparkSession) -> None:
    written, silent = catalog_of(stack, "bwritten"), catalog_of(stack, "bsilent")
    send(stack, written, 500)
    both = Catalog({**written.topics, **silent.topics}, {**written.views, **silent.views})
    claimed = claim(stack, both)
    land(spark, stack, both, claimed.cut)
    built = {one.view: one for one in passed(spark, stack, both, claimed)}
    assert {view for view, one in built.items() if one.passed} == set(both.views)
    assert all(built[view].rows > 0 for view in written.views)
    for view in silent.views:
        assert built[view].rows == 0
        assert delta.read(table_paths.batch(stack, view, claimed.build)).num_rows == 0
