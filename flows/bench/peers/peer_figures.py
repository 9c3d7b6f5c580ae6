"""`lk bench peers`: replays, Flink and Kafka Streams read the same log in turns, and their windows are compared."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from core.identifiers import Name
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows import replays
from flows.bench.peers import windows
from flows.bench.peers.cpu_clock import cpu_clock
from flows.bench.peers.peer_program import FLINK, STREAMS, Peer, run_peer
from flows.bench.peers.reading_rate import ReadingRate, reading_rate, with_cpu
from flows.measure import load, raw_consumer
from flows.measure.demo_queries import BY_DAY, BY_WINDOW
from flows.measure.figures import Figure
from flows.measure.load import TRADES
from infra.control.manifest import read_epochs
from infra.kafka import topic_admin
from infra.settings import Settings
from serving.promote import serve_run
from speed.process import lifecycle

COUNT = 20_000_000
_RATE = 1_000.0  # trades a second of event time; the last one happens now, as peers refuse times ahead of the broker's
_LATE, _OUT_OF_ORDER = 0.05, 0.10
_BOTH = (BY_WINDOW, BY_DAY)
_PATIENCE = 1_800.0
PEERS = (FLINK, STREAMS)


@dataclass(frozen=True)
class PeersLog:
    """An instance without a run, with COUNT trades in Kafka."""

    settings: Settings
    catalog: Catalog
    folder: Path


def fill(settings: Settings, catalog: Catalog, config: Path) -> PeersLog:
    """Sends the trades that every system reads."""
    start = time.time_ns() // 1_000_000 - int(COUNT / _RATE * 1_000)
    spec = SampleSpec(1, start, _RATE, late=_LATE, out_of_order=_OUT_OF_ORDER)
    load.send_trades(settings, catalog, records(catalog.topic(TRADES), spec, COUNT))
    return PeersLog(settings, catalog, config.parent / "peers")


def peers(log: PeersLog, repeat: int) -> list[Figure]:
    """Rate, CPU time and ratios of each system in ``repeat`` rounds, in which they take turns; windows that differ.

    The windows of the last replay are served and compared with those of every run of a peer.
    """
    raw: list[float] = []
    both: list[ReadingRate] = []
    alone: list[ReadingRate] = []
    of_peers: dict[str, list[ReadingRate]] = {peer.name: [] for peer in PEERS}
    outputs: list[Name] = []
    for turn in range(repeat):
        raw.append(raw_consumer.rate(log.settings, TRADES))
        both.append(_replay(log, _BOTH))
        replays.abandon(log.settings)
        alone.append(_replay(log, (BY_WINDOW,)))
        for peer in PEERS:
            outputs.append(Name(f"windows_of_{peer.jar_sets[0]}_{turn}"))
            of_peers[peer.name].append(_run(log, peer, outputs[-1]))
        if turn < repeat - 1:
            replays.abandon(log.settings)
    return [*_rates(raw, both, alone, of_peers), *_differences(log, outputs)]


def _replay(log: PeersLog, views: Sequence[Name]) -> ReadingRate:
    """A replay of some views over the whole log; its process is stopped, its run stays."""
    began = time.time()
    state = replays.start(log.settings, log.catalog, views=views)
    assert state.run
    assert state.pid
    with cpu_clock(state.pid) as cpu:
        load.wait_for_lag_zero(log.settings, state.run, _PATIENCE)
    lifecycle.stop(log.settings, state.run)
    epochs = read_epochs(log.settings, state.run)
    progress = [(epoch.committed_at.timestamp(), epoch.end.size) for epoch in epochs]
    return reading_rate(with_cpu(progress, cpu), COUNT, progress[-1][0] - began)


def _run(log: PeersLog, peer: Peer, output: Name) -> ReadingRate:
    partitions = log.catalog.topic(TRADES).partitions
    topic_admin.ensure_copies(log.settings, [str(output)], partitions, [str(TRADES)])
    return run_peer(log.settings, peer, TRADES, output, log.folder / output)


def _rates(
    raw: list[float], both: list[ReadingRate], alone: list[ReadingRate], of_peers: Mapping[str, list[ReadingRate]]
) -> list[Figure]:
    flink = of_peers[FLINK.name]
    how = (
        f"{COUNT:,} trades of about 104 bytes in 4 partitions; every system reads them from offset 0 in each of "
        f"{len(raw)} rounds, one after the other, with two threads and the same heap; rates and CPU are over the last "
        "nine tenths of the log, the broker's CPU is not counted; Flink checkpoints to files with its state on the "
        "heap, Kafka Streams keeps its state in RocksDB, both exactly once"
    )
    systems = {"replay, trade_stats alone": alone, "replay, both trade views": both, **of_peers}
    figures = [Figure("raw consumer", "records read, nothing done with them", "records/s", tuple(raw), how=how)]
    for name, rates in systems.items():
        figures += [
            Figure(name, "records read and computed", "records/s", tuple(each.rate for each in rates)),
            Figure(f"{name}: CPU", "CPU time a record", "µs", tuple(each.cpu * 1e6 for each in rates)),
            Figure(f"{name}: all", "start to complete result", "s", tuple(each.seconds for each in rates)),
        ]
    return [
        *figures,
        _ratio("trade_stats alone ÷ Flink", alone, [each.rate for each in flink], 1.2),
        _ratio("trade_stats alone ÷ raw consumer", alone, raw, 0.5),
        _ratio("both trade views ÷ Flink", both, [each.rate for each in flink], 0.9),
    ]


def _ratio(what: str, ours: Sequence[ReadingRate], theirs: Sequence[float], least: float) -> Figure:
    """Ratios of the rates of the same round."""
    values = tuple(mine.rate / other for mine, other in zip(ours, theirs, strict=True))
    return Figure(f"ratio: {what}", "rates of the same round", "×", values, least=least)


def _differences(log: PeersLog, outputs: Sequence[Name]) -> list[Figure]:
    """Compares every peer's windows with those that the last replay serves."""
    run = replays.chosen_run(log.settings, None)
    serve_run(log.settings, log.catalog.only([BY_WINDOW]), run, "lk bench peers")
    ours = windows.of_ours(log.settings)
    compared = [windows.difference(ours, windows.of_peer(log.settings, output)) for output in outputs]
    first = next((f"; the first: {each.first}" for each in compared if each.first), "")
    how = f"{len(ours):,} windows with four cells each, ours against each of {len(outputs)} runs of a peer{first}"
    values = tuple(float(each.different) for each in compared)
    return [Figure("windows that differ", "from a peer's, in any cell", "windows", values, most=0, how=how)]
