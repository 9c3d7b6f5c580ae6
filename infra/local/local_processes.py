"""Background processes: each has a state file, a log and a session of its own, and stops with all its children."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from core.errors import Refused
from infra.lake.process_identity import has_start, process_start
from infra.local import log_files
from infra.retry import wait_until
from infra.settings import LOOPBACK, PREFIX, Settings

_GRACE = 30.0
# Children of this process stay zombies until it waits for them.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Process:
    """A process as its state file records it; ``created`` is its start, see ``process_start``.

    ``running_process`` checks whether it still runs.
    """

    name: str
    pid: int
    created: float
    ports: Mapping[str, int]

    @property
    def address(self) -> str:
        """Address of its first port; empty without ports."""
        return next((f"{LOOPBACK}:{port}" for port in self.ports.values()), "")


def state_file(settings: Settings, name: str) -> Path:
    """Path of the state file of a process."""
    return settings.run_dir / f"{name}.json"


def log_file(settings: Settings, name: str) -> Path:
    """Path of the log of a process. The log of its previous start is ``NAME.1.log``."""
    return settings.log_dir / f"{name}.log"


def start_process(
    settings: Settings,
    name: str,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    ports: Mapping[str, int] | None = None,
    cwd: Path | None = None,
) -> Process:
    """Starts a background process that writes to its log. ``env`` is added to ours; ``ports`` are setting → port.

    Raises Refused when it is already running or a port is in use.
    """
    if running_process(settings, name):
        raise Refused(f"{name} is already running", where=str(state_file(settings, name)), fix="stop it first")
    for setting, port in (ports or {}).items():
        require_free(name, setting, port)
    for folder in (settings.run_dir, settings.log_dir):
        folder.mkdir(parents=True, exist_ok=True)
    log = log_file(settings, name)
    if log.exists():
        log.replace(log.with_suffix(log_files.PREVIOUS))
    with log.open("ab") as out:  # appending, so that the log may be emptied while the process writes
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
    process = Process(name, child.pid, process_start(child.pid), dict(ports or {}))
    _write(state_file(settings, name), process)
    return process


def _inherited() -> dict[str, str]:
    """Our environment without the gateway of a JVM that spark-submit started for this process alone."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_GATEWAY_")}


def recorded(settings: Settings, name: str) -> Process | None:
    """The process of the state file, running or not; None without a readable state file."""
    try:
        state = json.loads(state_file(settings, name).read_text("utf-8"))
        return Process(name, int(state["pid"]), float(state["created"]), dict(state["ports"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def recorded_names(settings: Settings) -> list[str]:
    """Names of all processes that have a state file."""
    stems = (path.stem for path in sorted(settings.run_dir.glob("*.json")))
    return [name for name in stems if recorded(settings, name)]


def running_process(settings: Settings, name: str) -> Process | None:
    """The process if it runs. Its start must match too, as the OS reuses process ids."""
    process = recorded(settings, name)
    return process if process and _runs(process) else None


def stop_process(settings: Settings, name: str, *, grace: float = _GRACE) -> bool:
    """Stops a process: SIGTERM, then SIGKILL for the rest of its session. Returns whether anything was stopped."""
    process = recorded(settings, name)
    if process is None:
        return False
    running = running_process(settings, name)
    if running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        _wait_until_gone(settings, name, grace)
    survivors = list(_session(process))
    for member in survivors:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    psutil.wait_procs(survivors, timeout=10)
    _reap(process.pid)
    state_file(settings, name).unlink(missing_ok=True)
    return running is not None or bool(survivors)


def last_lines(path: Path, lines: int) -> list[str]:
    """The last lines of a log; empty when it does not exist."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=lines)]
    except FileNotFoundError:
        return []


def below_message(path: Path, lines: int) -> str:
    """The last lines of a log as they stand below a message: each on a line of its own, indented."""
    return "".join(f"\n    {line}" for line in last_lines(path, lines))


def require_free(name: str, setting: str, port: int) -> None:
    """Raises Refused naming the port, its owner and the setting when something listens on it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            raise Refused(
                f"port {port} of {name} is in use",
                where=port_owner(port),
                fix=f"stop that process, or set another port: {setting} ({PREFIX}{setting.upper()})",
            ) from None


def port_owner(port: int) -> str:
    """A description of the process that listens on a port, as far as our permissions allow."""
    try:
        listening = [c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        pid = next((c.pid for c in listening if c.laddr and c.laddr.port == port and c.pid), None)
        if pid is None:
            return "a process of another user"
        owner = psutil.Process(pid)
        words = [owner.name(), *owner.cmdline()[-1:]]
        return f"process {pid}: {' … '.join(words)[:200]}, started in {owner.cwd()}"
    except psutil.Error:
        return "a process of another user"


def _runs(process: Process) -> bool:
    """Whether this process, and no later one with its pid, exists and is no zombie."""
    _reap(process.pid)
    try:
        zombie = psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
        return not zombie and has_start(process.pid, process.created)
    except psutil.NoSuchProcess:
        return False


def _wait_until_gone(settings: Settings, name: str, seconds: float) -> None:
    """Waits until the process is gone or a zombie: its parent may not wait for it."""
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: running_process(settings, name) is None, seconds, every=0.05, error=TimeoutError)


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        _children.pop(pid, None)  # another thread may have seen its end, too


def _session(process: Process) -> Iterator[psutil.Process]:
    """The processes of its session that still run. The OS does not reuse a pid that is a session's id."""
    with contextlib.suppress(psutil.NoSuchProcess):
        if not has_start(process.pid, process.created):
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
    """Memory of these processes and their descendants in bytes. Shared pages and each process count once (PSS)."""
    members = {member for pid in pids for member in process_tree(pid)}
    return sum(map(memory_of, members))


def memory_of(member: psutil.Process) -> int:
    """Memory of one process in bytes (PSS); 0 if it has ended."""
    with contextlib.suppress(psutil.Error):
        info = member.memory_full_info()
        return int(getattr(info, "pss", info.rss))
    return 0


def process_tree(pid: int) -> list[psutil.Process]:
    """A process and its descendants; empty when it does not exist."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    return []
