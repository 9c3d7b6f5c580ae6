"""The environment of a child process that runs `lk` with our settings and our code."""

from __future__ import annotations

import json
import os

from infra.project_files import ROOT
from infra.settings import PREFIX, Settings


def child_environment(settings: Settings) -> dict[str, str]:
    """All our settings as variables, from whatever source they came, and a PYTHONPATH to our code."""
    values = {key: value for key, value in settings.model_dump(mode="json").items() if value is not None}
    values["views"] = os.pathsep.join(values["views"])
    for ports in ("kafka_peer_ports", "kafka_peer_controller_ports"):
        values[ports] = ",".join(map(str, values[ports]))
    values["spark_conf"] = json.dumps(values["spark_conf"])
    root = str(ROOT)
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {PREFIX + key.upper(): str(value) for key, value in values.items()} | {"PYTHONPATH": path}
