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
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

from pyarrow import fs

from cli.root import answer, run
from core.errors import Refused
from infra.private_files import write_private


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
    if not options.result:
        return _run(options)
    out = io.StringIO()
    with redirect_stdout(out):
        code = _run(options)
    print(out.getvalue(), end="")
    files, path = _filesystem(options.result)
    with files.open_output_stream(path) as stream:
        stream.write(json.dumps({"exit": code, "out": out.getvalue()}).encode())
    return code


def _run(options: argparse.Namespace) -> int:
    """Runs the verb with the passwords of its secrets. That one cannot be read is an answer, too."""
    as_json = "--json" in options.words
    return answer(lambda: _write_passwords(options.secret, options.trino_secret), as_json) or run(options.words)


def _download_settings(uri: str) -> None:
    files, path = _filesystem(uri)
    local = Path(tempfile.mkdtemp(prefix="lk-")) / "lk.toml"
    with files.open_input_stream(path) as stream:
        local.write_bytes(stream.read())
    os.environ["LK_CONFIG"] = str(local)


def _write_passwords(kafka: str | None, trino: str | None) -> None:
    """Writes the passwords of these secrets to the files that the settings name."""
    if not kafka and not trino:
        return
    file = os.environ["LK_CONFIG"]
    settings = tomllib.loads(Path(file).read_text("utf-8"))
    passwords: dict[str, str] = {}
    if kafka:
        passwords["kafka_password_file"] = _entry(_read_secret(kafka), "password", kafka)
    if trino:
        of_users = _read_secret(trino)
        passwords["trino_password_file"] = _entry(of_users, settings.get("trino_user", "lk"), trino)
        passwords["trino_reader_password_file"] = _entry(of_users, settings.get("trino_reader", "reader"), trino)
    for setting, password in passwords.items():
        write_private(Path(_entry(settings, setting, file)), password)


def _entry(entries: Mapping[str, str], name: str, where: str) -> str:
    if name not in entries:
        raise Refused(f"there is no entry {name!r}", where=where, fix="add it, then start the job again")
    return entries[name]


def _read_secret(arn: str) -> dict[str, str]:
    import boto3

    secret = boto3.client("secretsmanager", region_name=arn.split(":")[3]).get_secret_value(SecretId=arn)
    return dict(json.loads(secret["SecretString"]))


def _filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    files, path = fs.FileSystem.from_uri(uri.replace("s3a:", "s3:", 1))
    return files, path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
