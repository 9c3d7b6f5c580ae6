"""A build succeeds when a topic is empty."""

import pytest
from pyspark.sql import SparkSession

from batch.claim import claim
from batch.land import land
from core.catalog import Catalog
from infra.lake import delta, table_paths
from infra.settings import Settings
from tests.support.instances.layers import catalog_of, passed, send

pytestmark = pytest.mark.slow


def test_views_of_a_topic_without_records_are_built_empty(stack: Settings, spark: SparkSession) -> None:
    filled, empty = catalog_of(stack, "bwritten"), catalog_of(stack, "bsilent")
    send(stack, filled, 500)
    catalog = Catalog({**filled.topics, **empty.topics}, {**filled.views, **empty.views})
    claimed = claim(stack, catalog)
    land(spark, stack, catalog, claimed.cut)
    built = {build.view: build for build in passed(spark, stack, catalog, claimed)}
    assert {view for view, build in built.items() if build.passed} == set(catalog.views)
    assert all(built[view].rows > 0 for view in filled.views)
    for view in empty.views:
        assert built[view].rows == 0
        assert delta.read(table_paths.batch(stack, view, claimed.build)).num_rows == 0
