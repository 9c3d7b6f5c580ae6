"""Fifty people with the page open cost less than five percent of a core beyond one, whose share is bounded too."""

from __future__ import annotations

import http.client
import threading
import time

from infra.local import local_processes, ui_server
from infra.local.resource_usage import usage_of
from infra.settings import LOOPBACK
from tests.support.instances.world import World

SECONDS, EVERY = 30.0, 2.0
ONE_VIEWER = 0.25  # of a core: the state is read every two seconds, which on a slow machine takes longer


def cost(world: World, viewers: int) -> float:
    """The share of a core that the page's server takes while so many browsers ask as the page's script does."""
    running = local_processes.running_process(world.settings, ui_server.NAME)
    assert running
    over = threading.Event()
    threads = [threading.Thread(target=view, args=(world, number * EVERY / viewers, over)) for number in range(viewers)]
    for thread in threads:
        thread.start()
    time.sleep(3 * EVERY)  # until everybody has asked once: what is measured is a steady state
    before, began = usage_of(running.pid), time.monotonic()
    time.sleep(SECONDS)
    share = usage_of(running.pid).since(before).cpu / (time.monotonic() - began)
    over.set()
    for thread in threads:
        thread.join()
    return share


def view(world: World, start: float, over: threading.Event) -> None:
    """One browser: a connection that stays open, and the tag of the last document."""
    over.wait(start)
    connection, tag = http.client.HTTPConnection(LOOPBACK, world.settings.ui_port, timeout=10), ""
    while not over.is_set():
        connection.request("GET", "/page.json", headers={"If-None-Match": tag} if tag else {})
        answer = connection.getresponse()
        answer.read()
        assert answer.status in (200, 304)
        tag = answer.headers["ETag"]
        over.wait(EVERY)
    connection.close()


def test_fifty_viewers_cost_less_than_five_percent_of_a_core(world: World) -> None:
    world.running()
    world.settle()
    first, fifty = cost(world, 1), cost(world, 51)
    shares = f"{first:.3f} of a core for one viewer, {fifty:.3f} for 51"
    assert fifty - first < 0.05, shares
    assert first < ONE_VIEWER, shares
    assert local_processes.memory_bytes(pid(world)) < 250 * 2**20


def pid(world: World) -> int:
    running = local_processes.running_process(world.settings, ui_server.NAME)
    assert running
    return running.pid
