"""Runs one verb in a driver that spark-submit started: ``spark-submit lk_verb.py [OPTIONS] WORDS…``, like `lk WORDS`.

``--settings URI``  the settings file, which is downloaded
``--secret ARN``    of Kafka's user and password: the password is written to the settings' kafka_password_file
``--trino-secret ARN``  of Trino's users and passwords: those of trino_user and trino_reader are written to their files
``--result URI``    where to write the output and the exit code of the verb: ``{"exit": 0, "out": "…"}``
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
from typing import Any

from pyarrow import fs

from cli.root import run


def main(arguments: list[str]) -> int:
    """Runs the verb; returns its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.umask(0o077)
    parser = argparse.ArgumentParser(prog="lk_verb.py", add_help=False)
    for option in ("--settings", "--secret", "--trino-secret", "--result"):
        parser.add_argument(option)
    parser.add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if options.settings:
        _download_settings(options.settings)
    if options.secret:
        _write_file("kafka_password_file", _read_secret(options.secret)["password"])
    if options.trino_secret:
        passwords = _read_secret(options.trino_secret)
        _write_file("trino_password_file", passwords[_settings().get("trino_user", "lk")])
        _write_file("trino_reader_password_file", passwords[_settings().get("trino_reader", "reader")])
    if not options.result:
        return run(options.words)
    out = io.StringIO()
    with redirect_stdout(out):
        code = run(options.words)
    print(out.getvalue(), end="")
    files, path = _filesystem(options.result)
    with files.open_output_stream(path) as stream:
        stream.write(json.dumps({"exit": code, "out": out.getvalue()}).encode())
    return code


def _download_settings(uri: str) -> None:
    files, path = _filesystem(uri)
    local = Path(tempfile.mkdtemp(prefix="lk-")) / "lk.toml"
    with files.open_input_stream(path) as stream:
        local.write_bytes(stream.read())
    os.environ["LK_CONFIG"] = str(local)


def _settings() -> dict[str, Any]:
    return tomllib.loads(Path(os.environ["LK_CONFIG"]).read_text("utf-8"))


def _read_secret(arn: str) -> dict[str, str]:
    import boto3

    secret = boto3.client("secretsmanager", region_name=arn.split(":")[3]).get_secret_value(SecretId=arn)
    return dict(json.loads(secret["SecretString"]))


def _write_file(setting: str, password: str) -> None:
    """Writes a password to the file that a setting names."""
    file = Path(_settings()[setting])
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(file, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        out.write(password)


def _filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    files, path = fs.FileSystem.from_uri(uri.replace("s3a:", "s3:", 1))
    return files, path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
