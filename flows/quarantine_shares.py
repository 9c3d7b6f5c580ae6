"""Topics with too many quarantined records, of what is served and of the newest run. It needs no Spark."""

from __future__ import annotations

from core.catalog import Catalog
from core.identifiers import Name
from core.positions import LogPartition
from core.record_counts import RecordCounts, Totals
from infra.control import run_roles
from infra.control.publications import last_done
from infra.settings import Settings
from serving import ledger
from serving.publish import declared_pins
from speed.quarantine import share
from speed.quarantine.recent_counts import PeriodCounts, recent_counts
from speed.quarantine.share import QuarantineShare


def served_shares(settings: Settings, catalog: Catalog) -> tuple[QuarantineShare, ...]:
    """The topics with too many quarantined records among what is served, else among what its runs read last."""
    states = ledger.served_states(settings, declared_pins(last_done(settings), catalog))
    partitions = {
        str(LogPartition(counts.topic, counts.partition)): RecordCounts(
            counts.decoded + counts.quarantined, counts.decoded, counts.quarantined
        )
        for counts in ledger.counts_by_partition(catalog, states)
    }
    runs = sorted(run_roles.serving_runs(settings))
    recent = [counted for run in runs for counted in recent_counts(settings, run)]
    return share.too_many(settings, catalog, PeriodCounts(Totals(partitions)), *recent)


def topic_shares(settings: Settings, catalog: Catalog, topic: Name) -> tuple[QuarantineShare, ...]:
    """The quarantine share of one topic, by its newest run, when it is too high."""
    run = run_roles.current_run(settings)
    shares = share.of_run(settings, catalog, run) if run else ()
    return tuple(of_topic for of_topic in shares if of_topic.topic == topic)
