"""The local Trino: one node, on loopback, with the catalog ``lake`` on the lake folder."""

from __future__ import annotations

import json
import shlex
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path

from trino.dbapi import connect

from core.errors import Refused, TryAgain
from infra.lake import object_store
from infra.local.server_spec import Server
from infra.runtime import jars
from infra.runtime.java import class_archive, find_java, read_java
from infra.runtime.java_properties import properties
from infra.settings import LOOPBACK, Settings
from infra.trino import access_files
from infra.trino.metastore import METASTORE

NAME = "trino"
CATALOG = "lake"
_JVM = (
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:ReservedCodeCacheSize=256M",
    "-XX:PerMethodRecompilationCutoff=10000",
    "-XX:PerBytecodeRecompilationCutoff=10000",
    "-Djdk.attach.allowAttachSelf=true",
    "-Djdk.nio.maxCachedBufferSize=2000000",
    "-Dfile.encoding=UTF-8",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)


def server(settings: Settings) -> Server:
    """The Trino of this instance, not started. Raises Refused when the lake is neither a local folder nor on S3."""
    if not settings.lake_is_local and not object_store.is_object(settings.lake_root):
        raise Refused(
            "the local Trino serves only a lake that is a local folder or on S3",
            where=f"lake = {settings.lake_root}",
            fix="set trino_host (LK_TRINO_HOST) to a Trino that can read it",
        )
    home = find_java(settings)
    java = read_java(home)
    vector = ("--add-modules=jdk.incubator.vector",) if java and java.has_vector else ()
    dist = jars.ensure_jars(settings, NAME)
    plugins = (*(dist / "plugin").iterdir(), *(jars.ensure_jars(settings, "limits") / "plugin").iterdir())
    trino_home = settings.run_dir / NAME
    etc = trino_home / "etc"
    node = {"node.environment": "local", "node.id": "local", "node.data-dir": settings.data / NAME}
    return Server(
        name=NAME,
        argv=(
            *(str(home / "bin" / "java"), f"-Xmx{settings.trino_memory}", *_JVM, *vector, *class_archive(NAME)),
            *shlex.split(settings.java_options),
            *(f"-D{key}={value}" for key, value in node.items()),
            # It finds limits in etc/ below this folder. Its process works in the folder of logs, as all servers do.
            f"-Duser.dir={trino_home}",
            *(f"-Dconfig={etc / 'config.properties'}", f"-Dlog.levels-file={etc / 'log.properties'}"),
            *("-cp", f"{dist}/lib/*", "io.trino.server.TrinoServer"),
        ),
        ports={"trino_port": settings.trino_port},
        prepare=lambda: _prepare(settings, etc, plugins),
        probe=lambda: _probe(settings),
    )


def _prepare(settings: Settings, etc: Path, plugins: Iterable[Path]) -> None:
    if settings.lake_is_local:
        Path(settings.lake_root).mkdir(parents=True, exist_ok=True)
    (settings.data / NAME).mkdir(parents=True, exist_ok=True)
    rights = access_files.write_local(etc, settings.trino_user)
    _write(etc / "config.properties", _config(settings, etc) | rights)
    _link(etc.parent / "plugin", plugins)
    _write(etc / "log.properties", {"io.trino": "INFO"})
    _write(etc / "catalog" / f"{CATALOG}.properties", _catalog(settings))


def _write(path: Path, values: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(properties(values), "utf-8")


def _link(folder: Path, plugins: Iterable[Path]) -> None:
    """Makes a folder of links to the plugins, which come from two downloads."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for plugin in plugins:
        (folder / plugin.name).symlink_to(plugin, target_is_directory=True)


def _config(settings: Settings, etc: Path) -> dict[str, object]:
    return {
        "coordinator": "true",
        "node-scheduler.include-coordinator": "true",
        "node.bind-ip": LOOPBACK,
        "node.internal-address": LOOPBACK,
        "http-server.http.port": settings.trino_port,
        "http-server.log.enabled": "false",
        "discovery.uri": f"http://{LOOPBACK}:{settings.trino_port}",
        "plugin.dir": etc.parent / "plugin",
        "catalog.config-dir": etc / "catalog",
        "query.max-history": 50,
        "query.min-expire-age": "1m",
    }


def _catalog(settings: Settings) -> dict[str, object]:
    local = {
        "hive.metastore.catalog.dir": f"local:///{METASTORE}",
        "fs.native-local.enabled": "true",
        "local.location": settings.lake_root,
    }
    return {
        "connector.name": "delta_lake",
        "hive.metastore": "file",
        **(local if settings.lake_is_local else object_store.trino_catalog(settings, METASTORE)),
        "delta.register-table-procedure.enabled": "true",
        # The next query sees a new commit.
        "delta.metadata.cache-ttl": "0s",
    }


def _probe(settings: Settings) -> None:
    with urllib.request.urlopen(f"{settings.trino_url}/v1/info", timeout=2) as response:  # noqa: S310  our own URL
        if json.load(response)["starting"]:
            raise TryAgain("Trino is starting")
    address = {"host": settings.trino_address, "port": settings.trino_port, "user": settings.trino_user}
    with connect(**address, request_timeout=5, max_attempts=1) as connection:  # type: ignore[no-untyped-call]
        # SELECT 1 works before the node has announced itself; other queries do not.
        nodes = connection.cursor().execute("SELECT node_id FROM system.runtime.nodes WHERE state = 'active'")
        if not nodes.fetchall():
            raise TryAgain("Trino has no node yet")
