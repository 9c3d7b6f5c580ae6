"""Background processes with a state file each: started in a session of their own, found again, stopped whole."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from core.errors import Refused
from infra.retry import wait_until
from infra.settings import LOOPBACK, PREFIX, Settings

# Clock corrections move the creation time that the system reports a little.
_SAME_CREATION = 5.0
_GRACE = 30.0
# Our own children must be waited for, or they stay as zombies until we end.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Process:
    """What the state file says of a process; whether it still runs is another question (``alive``)."""

    name: str
    pid: int
    created: float
    ports: Mapping[str, int]

    @property
    def address(self) -> str:
        """Where its first port listens; empty without ports."""
        return next((f"{LOOPBACK}:{port}" for port in self.ports.values()), "")


def state_file(settings: Settings, name: str) -> Path:
    """Where the state of a process is kept."""
    return settings.run_dir / f"{name}.json"


def log_file(settings: Settings, name: str) -> Path:
    """Where a process writes its output; the output of the start before it is in ``NAME.1.log``."""
    return settings.log_dir / f"{name}.log"


def start(
    settings: Settings,
    name: str,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    ports: Mapping[str, int] | None = None,
    cwd: Path | None = None,
) -> Process:
    """Start in the background, output to the log; ``env`` is added to ours, ``ports`` are setting → port.

    Raises Refused when it runs already or a port is taken.
    """
    if alive(settings, name):
        raise Refused(f"{name} runs already", where=str(state_file(settings, name)), fix="stop it first")
    for setting, port in (ports or {}).items():
        require_free(name, setting, port)
    for folder in (settings.run_dir, settings.log_dir):
        folder.mkdir(parents=True, exist_ok=True)
    log = log_file(settings, name)
    if log.exists():
        log.replace(log.with_suffix(".1.log"))
    with log.open("wb") as out:
        child = subprocess.Popen(
            list(argv),
            env=_inherited() | dict(env or {}),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    _children[child.pid] = child
    process = Process(name, child.pid, _created(child.pid) or time.time(), dict(ports or {}))
    _write(state_file(settings, name), process)
    return process


def _inherited() -> dict[str, str]:
    """Our environment, less the way to a Java that spark-submit started for this process alone."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_GATEWAY_")}


def recorded(settings: Settings, name: str) -> Process | None:
    """What the state file says, dead or alive; None without a readable one."""
    try:
        state = json.loads(state_file(settings, name).read_text("utf-8"))
        return Process(name, int(state["pid"]), float(state["created"]), dict(state["ports"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def recorded_names(settings: Settings) -> list[str]:
    """Every process that has a state file."""
    found = (path.stem for path in sorted(settings.run_dir.glob("*.json")))
    return [name for name in found if recorded(settings, name)]


def alive(settings: Settings, name: str) -> Process | None:
    """The process if it runs: same pid and same creation time, so a pid used again does not deceive."""
    process = recorded(settings, name)
    if process is None:
        return None
    created = _created(process.pid)
    same = created is not None and abs(created - process.created) < _SAME_CREATION
    return process if same else None


def stop(settings: Settings, name: str, *, grace: float = _GRACE) -> bool:
    """Whether something was there to stop. SIGTERM, then SIGKILL for all of its session that is left."""
    process = recorded(settings, name)
    if process is None:
        return False
    running = alive(settings, name)
    if running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        _wait_until_gone(settings, name, grace)
    left = list(_session(process))
    for member in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    psutil.wait_procs(left, timeout=10)
    _reap(process.pid)
    state_file(settings, name).unlink(missing_ok=True)
    return running is not None or bool(left)


def last_lines(path: Path, lines: int) -> list[str]:
    """The end of a log; nothing when there is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=lines)]
    except FileNotFoundError:
        return []


def require_free(name: str, setting: str, port: int) -> None:
    """Raises Refused naming the port, its holder and the setting when something listens on it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            raise Refused(
                f"port {port} is in use, {name} needs it",
                where=port_owner(port),
                fix=f"stop that process, or choose another port: {setting} ({PREFIX}{setting.upper()})",
            ) from None


def port_owner(port: int) -> str:
    """Who listens on a port, as far as we may see it."""
    try:
        listening = [c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        pid = next((c.pid for c in listening if c.laddr and c.laddr.port == port and c.pid), None)
        if pid is None:
            return "a process that we may not see"
        held = psutil.Process(pid)
        words = [held.name(), *held.cmdline()[-1:]]
        return f"process {pid}: {' … '.join(words)[:200]}, started in {held.cwd()}"
    except psutil.Error:
        return "a process that we may not see"


def _created(pid: int) -> float | None:
    """When the process of this pid was created; None when there is none, or only its remains."""
    _reap(pid)
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.NoSuchProcess:
        return None


def _wait_until_gone(settings: Settings, name: str, seconds: float) -> None:
    """Gone, or a zombie: its parent may be another process, which does not look."""
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: alive(settings, name) is None, seconds, every=0.05, error=TimeoutError)


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        del _children[pid]


def _session(process: Process) -> Iterator[psutil.Process]:
    """All that is left of its session; a pid is not given out again while a session bears it."""
    created = _created(process.pid)
    if created is not None and abs(created - process.created) >= _SAME_CREATION:
        return
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError, PermissionError, psutil.NoSuchProcess):
            if os.getsid(pid) == process.pid:
                yield psutil.Process(pid)


def _write(path: Path, process: Process) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(process)), "utf-8")
    part.replace(path)


def memory_bytes(*pids: int) -> int:
    """Bytes that these processes and their descendants hold; pages that some share count once (PSS)."""
    return sum(_pss(member) for pid in pids for member in process_tree(pid))


def process_tree(pid: int) -> list[psutil.Process]:
    """A process and its descendants; nothing when it is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    return []


def _pss(member: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):
        found = member.memory_full_info()
        return int(getattr(found, "pss", found.rss))
    return 0
