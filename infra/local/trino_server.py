"""The local Trino: one node, on loopback, with the catalog ``lake`` on the lake folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from secrets import token_urlsafe

import requests
from trino.dbapi import connect

from core.errors import Refused, TryAgain
from infra.lake import object_store
from infra.local.secured.users import trino_password_lines
from infra.local.server_spec import Server
from infra.private_files import write_private
from infra.runtime import jars
from infra.runtime.java import class_archive, find_java, read_java
from infra.runtime.java_properties import properties
from infra.settings import LOOPBACK, Settings
from infra.settings.local_secrets import LocalSecrets
from infra.trino import access_files, query_reports
from infra.trino.login import login
from infra.trino.metastore import CATALOG, METASTORE

NAME = "trino"
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
    trino_home = settings.run_dir / NAME
    etc = trino_home / "etc"
    secrets = settings.trino_secrets
    config = (secrets.folder / f"{NAME}.properties") if secrets else etc / "config.properties"
    node = {"node.environment": "local", "node.id": "local", "node.data-dir": settings.data / NAME}
    return Server(
        name=NAME,
        argv=(
            *(str(home / "bin" / "java"), f"-Xmx{settings.trino_memory}", *_JVM, *vector, *class_archive(NAME)),
            *shlex.split(settings.java_options),
            *(f"-D{key}={value}" for key, value in node.items()),
            # It finds limits in etc/ below this folder. Its process works in the folder of logs, as all servers do.
            f"-Duser.dir={trino_home}",
            *(f"-Dconfig={config}", f"-Dlog.levels-file={etc / 'log.properties'}"),
            *("-cp", f"{dist}/lib/*", "io.trino.server.TrinoServer"),
        ),
        ports={"trino_port": settings.trino_port},
        prepare=lambda: _prepare(settings, etc, config, (dist / "plugin").iterdir()),
        probe=lambda: _probe(settings),
    )


def _prepare(settings: Settings, etc: Path, config: Path, plugins: Iterable[Path]) -> None:
    if settings.lake_is_local:
        Path(settings.lake_root).mkdir(parents=True, exist_ok=True)
    (settings.data / NAME).mkdir(parents=True, exist_ok=True)
    rights = access_files.write_local(etc, settings.trino_user)
    secrets = settings.trino_secrets
    access = _secured(settings, secrets, etc) if secrets else _plain(settings)
    write_private(config, properties(_config(etc) | access | rights | _reports(settings)))
    _link(etc.parent / "plugin", plugins)
    # Bootstrap would log the whole configuration, with the secret of the reports. Without the live page nobody takes
    # the reports, which is no error of Trino.
    levels = {"io.trino": "INFO", "Bootstrap": "WARN", "io.trino.plugin.httpquery": "ERROR"}
    _write(etc / "log.properties", levels)
    _write(etc / "catalog" / f"{CATALOG}.properties", _catalog(settings))


def _write(path: Path, values: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(properties(values), "utf-8")


def _link(folder: Path, plugins: Iterable[Path]) -> None:
    """Makes a folder of links to the plugins."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for plugin in plugins:
        (folder / plugin.name).symlink_to(plugin, target_is_directory=True)


def _config(etc: Path) -> dict[str, object]:
    return {
        "coordinator": "true",
        "node-scheduler.include-coordinator": "true",
        "node.bind-ip": LOOPBACK,
        "node.internal-address": LOOPBACK,
        "http-server.log.enabled": "false",
        "plugin.dir": etc.parent / "plugin",
        "catalog.config-dir": etc / "catalog",
        "query.max-history": 50,
        "query.min-expire-age": "1m",
    }


def _reports(settings: Settings) -> dict[str, object]:
    """Trino reports finished queries to the live page."""
    key, key_file = query_reports.new_key(), query_reports.key_file(settings)
    write_private(key_file, key)
    listener = key_file.with_name("event-listener.properties")
    write_private(listener, properties(query_reports.listener(settings, key)))
    return {"event-listener.config-files": listener}


def _plain(settings: Settings) -> dict[str, object]:
    return {"http-server.http.port": settings.trino_port, "discovery.uri": settings.trino_url}


def _secured(settings: Settings, secrets: LocalSecrets, etc: Path) -> dict[str, object]:
    """TLS, and a password for each user. Trino encrypts what it says to itself with the shared secret."""
    from infra.local.secured import certificates

    certificates.write_server(secrets, NAME)
    passwords = secrets.folder / "trino-passwords"
    write_private(passwords, trino_password_lines(secrets))
    authenticator = {"password-authenticator.name": "file", "file.password-file": passwords}
    _write(etc / "password-authenticator.properties", authenticator)
    return {
        "http-server.http.enabled": "false",
        "http-server.https.enabled": "true",
        "http-server.https.port": settings.trino_port,
        "http-server.https.keystore.path": secrets.server(NAME),
        "http-server.authentication.type": "PASSWORD",
        "password-authenticator.config-files": etc / "password-authenticator.properties",
        "internal-communication.shared-secret": token_urlsafe(48),
        "internal-communication.https.required": "true",
        "internal-communication.https.keystore.path": secrets.server(NAME),
        "internal-communication.https.truststore.path": secrets.ca,
        "discovery.uri": settings.trino_url,
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
    user = login(settings)
    http = user["http_session"] or requests
    if http.get(f"{settings.trino_url}/v1/info", timeout=2).json()["starting"]:
        raise TryAgain("Trino is starting")
    with connect(**user, request_timeout=5, max_attempts=1) as connection:  # type: ignore[no-untyped-call]
        # SELECT 1 works before the node has announced itself; other queries do not.
        nodes = connection.cursor().execute("SELECT node_id FROM system.runtime.nodes WHERE state = 'active'")
        if not nodes.fetchall():
            raise TryAgain("Trino has no node yet")
