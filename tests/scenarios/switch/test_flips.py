"""Ten switches while events arrive and readers read: no error, no answer that the log never gave."""

from __future__ import annotations

import itertools
import threading

from core.identifiers import Name
from infra.control import run_roles
from infra.control.publications import read_publications
from tests.support.concurrent_readers import check, reading
from tests.support.kafka_log import send
from tests.support.load import mixed
from tests.support.world import World


class Load(threading.Thread):
    """Sends small lots of records, one after the other, until it is told to stop."""

    def __init__(self, world: World) -> None:
        super().__init__(daemon=True)
        self.world = world
        self.stopping = threading.Event()
        self.lots = 0

    def run(self) -> None:
        """A lot of different events every four seconds: three runs follow the log, on the cores of the test."""
        for seed in itertools.count(1_000):
            if self.stopping.wait(4.0):
                return
            send(self.world.settings, mixed(seed=seed, count=60))
            self.lots += 1


def test_ten_switches_under_load_show_no_error_and_no_mix(world: World) -> None:
    world.running()
    load, before = Load(world), len(read_publications(world.settings))
    with reading(world.settings, count=1, pause=1.0) as steady:
        load.start()
        world.here("switch", "kappa", "--json").ok()
        kappa = served(world)
        rollbacks = 0
        with reading(world.settings, count=2, pause=0.1) as quick:
            while rollbacks < 4 or load.lots <= 20 or min(len(reader.answers) for reader in quick) <= 20:
                for _ in range(2):  # there and back
                    world.here("rollback", "--json").ok()
                rollbacks += 2
        world.here("switch", "lambda", "--json").ok()
        assert served(world) == kappa
        world.here("switch", "kappa", "--run", kappa, "--json").ok()
        for _ in range(3):
            world.here("rollback", "--json").ok()
        load.stopping.set()
        load.join()
    done = [p.kind for p in read_publications(world.settings)[before:] if p.state == "done"]
    assert [kind for kind in done if kind != "run"] == [
        "kappa",
        *["rollback"] * rollbacks,
        "lambda",
        "kappa",
        *["rollback"] * 3,
    ]
    assert load.lots > 20
    assert [len(reader.answers) > 20 for reader in steady] == [True]
    world.settle_all()
    world.log.read()
    check([*steady, *quick], world.log.records, back=rollbacks + 3)
    world.check()


def served(world: World) -> Name:
    """The one run that serves."""
    (run,) = run_roles.serving_runs(world.settings)
    return run
