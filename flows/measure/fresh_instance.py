"""A fresh instance in its own folder, with ports and a settings file of its own. It shares only the downloads."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import Refused
from infra.local import local_stack
from infra.local.ports import free_ports, preferred_or_free_ports
from infra.settings import PREFIX, Settings
from infra.settings.sources import read_settings

_PORTS = ("kafka_port", "kafka_controller_port", "trino_port", "airflow_port", "ui_port")
_MARK = "# Made by lk: the next run replaces this folder.\n"
_CLUSTER = ("bootstrap", "kafka_brokers", "kafka_peer_ports", "kafka_peer_controller_ports", "kafka_replication")
_SECURITY = ("kafka_tiered_hours", "kafka_security", "kafka_user", "kafka_password_file", "kafka_passwords", "kafka_ca")
_TRINO = ("trino_host", "trino_tls", "trino_ca", "trino_password_file", "trino_reader_password_file")
_CLOUD = (*_TRINO, *(name for name in Settings.model_fields if name.startswith("emr_")))
_NOT_COPIED = ("data", *_PORTS, *_CLUSTER, *_SECURITY, *_CLOUD, "lake", "checkpoints")


@dataclass(frozen=True)
class FreshInstance:
    """The folder of an instance, its settings, and their file for later commands.

    ``unset`` names variables of the caller's environment that would override the file.
    """

    folder: Path
    config: Path
    settings: Settings
    unset: tuple[str, ...] = ()


def create(base: Settings, folder: Path, preferred: Mapping[str, int] | None = None) -> FreshInstance:
    """Creates an instance in ``folder`` with the memory, views and downloads of ``base``; starts nothing.

    Its ports are free ones. ``preferred`` has a port for each setting, which is used if it is free.
    Removes an instance that an earlier call created there. Changes the environment of this process so that child
    processes use the new instance. Raises Refused if the folder holds anything else.
    """
    remove(folder)
    folder = folder.absolute()
    folder.mkdir(parents=True)
    kept = base.model_dump(mode="json", exclude_defaults=True, exclude=set(_NOT_COPIED))
    ports = preferred_or_free_ports([preferred[name] for name in _PORTS]) if preferred else free_ports(len(_PORTS))
    values = kept | {"data": str(folder / "data")} | dict(zip(_PORTS, ports, strict=True))
    config = folder / "lk.toml"
    config.write_text(_MARK + "".join(f"{key} = {_toml(value)}\n" for key, value in values.items()), "utf-8")
    unset = tuple(PREFIX + name.upper() for name in _NOT_COPIED if os.environ.get(PREFIX + name.upper()))
    for name in {*values, *_NOT_COPIED}:
        os.environ.pop(PREFIX + name.upper(), None)
    os.environ[f"{PREFIX}CONFIG"] = str(config)
    return FreshInstance(folder, config, read_settings(config), unset)


def remove(folder: Path) -> bool:
    """Stops and deletes the instance in ``folder``; returns whether there was one."""
    if not folder.exists():
        return False
    config = folder / "lk.toml"
    if not config.is_file() or not config.read_text("utf-8").startswith(_MARK):
        raise Refused(
            "the folder was not created by an earlier run",
            where=str(folder.absolute()),
            fix="move it away, or run the command in another folder",
        )
    data = folder / "data"
    if data.exists():
        local_stack.stop_servers(Settings(data=data))
        shutil.rmtree(data)
    shutil.rmtree(folder)  # last: after an interrupted deletion the next run finds the settings file
    return True


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)
