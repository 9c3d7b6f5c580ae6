"""One verb in a driver that spark-submit started: ``spark-submit lk_verb.py [OPTIONS] WORDS…``, as `lk WORDS`.

``--settings URI``  the settings file, brought to this machine first
``--secret ARN``    of Kafka's user and password: the password is brought to the settings' kafka_password_file
``--result URI``    where to keep what the verb printed and its exit code: ``{"exit": 0, "out": "…"}``
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import tempfile
import tomllib
from contextlib import redirect_stdout
from pathlib import Path

from pyarrow import fs

from cli.root import run


def main(arguments: list[str]) -> int:
    """Runs the verb; returns its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog="lk_verb.py", add_help=False)
    for option in ("--settings", "--secret", "--result"):
        parser.add_argument(option)
    parser.add_argument("words", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    if given.settings:
        _bring_settings(given.settings)
    if given.secret:
        _bring_password(given.secret)
    if not given.result:
        return run(given.words)
    out = io.StringIO()
    with redirect_stdout(out):
        code = run(given.words)
    print(out.getvalue(), end="")
    files, path = _place(given.result)
    with files.open_output_stream(path) as stream:
        stream.write(json.dumps({"exit": code, "out": out.getvalue()}).encode())
    return code


def _bring_settings(uri: str) -> None:
    files, path = _place(uri)
    here = Path(tempfile.mkdtemp(prefix="lk-")) / "lk.toml"
    with files.open_input_stream(path) as stream:
        here.write_bytes(stream.read())
    os.environ["LK_CONFIG"] = str(here)


def _bring_password(arn: str) -> None:
    import boto3

    secret = boto3.client("secretsmanager", region_name=arn.split(":")[3]).get_secret_value(SecretId=arn)
    file = Path(tomllib.loads(Path(os.environ["LK_CONFIG"]).read_text("utf-8"))["kafka_password_file"])
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(file, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        out.write(json.loads(secret["SecretString"])["password"])


def _place(uri: str) -> tuple[fs.FileSystem, str]:
    files, path = fs.FileSystem.from_uri(uri.replace("s3a:", "s3:", 1))
    return files, path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
