"""`lk quarantine redrive` is killed at each step; the same command sends the rest, and nothing twice."""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from pathlib import Path

from tests.support.instances.world import World
from tests.support.records.kafka_log import Sent
from tests.support.records.load import NOON, millis, trade

# Fault -> how many of three repaired records may be in the log after the kill: the producer sends in the background.
KILLS = {"redrive.0_before_intent": (0,), "redrive.1_in_send:3": (0, 1, 2), "redrive.2_before_done": (3,)}


def test_a_redrive_killed_at_every_step_is_finished_by_the_same_command(world: World, tmp_path: Path) -> None:
    world.running()
    for number, (fault, possible) in enumerate(KILLS.items()):
        before = sum(copies(world).values())
        world.send([unreadable(world, n) for n in range(3)])
        world.settle()
        file = repaired(world, tmp_path / f"{number}.jsonl")
        killed = world.lk("quarantine", "redrive", str(file), "--json", fault=f"{fault}:kill")
        assert killed.code == -signal.SIGKILL, killed.said
        assert world.take_proof(fault.partition(":")[0]).startswith("kill ")
        sent = sum(copies(world).values()) - before
        assert sent in possible, fault
        finished = world.here("quarantine", "redrive", str(file), "--json").ok().json
        assert (finished["sent"], finished["already"]) == (3 - sent, sent)
        assert sum(copies(world).values()) == before + 3
    assert set(copies(world).values()) == {1}
    world.settle()
    world.check()


def unreadable(world: World, number: int) -> Sent:
    """A trade with a broken end; its key marks it as a record of this test."""
    good = trade(random.Random(len(world.log.records) + number), number, millis(NOON))
    return good._replace(key=b"REDRIVE", value=(good.value or b"") + b"}")


def repaired(world: World, file: Path) -> Path:
    """Exports the records of this test that were not sent again yet, and mends their ends."""
    world.here("quarantine", "export", str(file), "--topic", "trades", "--json").ok()
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    own = [line for line in lines if line["key"] == "REDRIVE"]
    assert len(own) == 3
    mended = [json.dumps({**line, "value": line["value"].removesuffix("}")}) + "\n" for line in own]
    file.write_text("".join(mended), "utf-8")
    return file


def copies(world: World) -> Counter[bytes]:
    """How many copies of each original are in the log."""
    world.log.read()
    return world.log.copies()
