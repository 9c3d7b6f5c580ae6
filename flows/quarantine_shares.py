"""Topics with too many quarantined records, of what is served and of the newest run. It needs no Spark."""

from __future__ import annotations

from collections.abc import Sequence

from core.catalog import Catalog
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals
from infra.control import run_roles
from infra.settings import Settings
from serving.ledger import PartitionCounts
from speed.quarantine import share
from speed.quarantine.share import Counted, QuarantineShare


def served_shares(
    settings: Settings, catalog: Catalog, served: Sequence[PartitionCounts]
) -> tuple[QuarantineShare, ...]:
    """The topics with too many quarantined records among what is served, else among what its runs read last."""
    partitions = {
        f"{counts.topic}/{counts.partition}": RecordCounts(
            counts.decoded + counts.quarantined, counts.decoded, counts.quarantined
        )
        for counts in served
    }
    shares: dict[Name, QuarantineShare] = {}
    last_hours = [share.last_hour(settings, run) for run in sorted(run_roles.serving_runs(settings))]
    for last_hour in last_hours or [Counted()]:
        for topic_share in share.too_many(settings, catalog, Counted(Totals(partitions)), last_hour):
            shares.setdefault(topic_share.topic, topic_share)
    return tuple(shares.values())


def topic_shares(settings: Settings, catalog: Catalog, topic: Name) -> tuple[QuarantineShare, ...]:
    """Of one topic, what its newest run has too many of in quarantine."""
    run = run_roles.current_run(settings)
    shares = share.of_run(settings, catalog, run) if run else ()
    return tuple(of_topic for of_topic in shares if of_topic.topic == topic)
