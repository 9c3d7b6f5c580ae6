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

from pyarrow import fs

from cli.root import run
from infra.local.private_files import write_private


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
    if options.secret or options.trino_secret:
        _write_passwords(options.secret, options.trino_secret)
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


def _write_passwords(kafka: str | None, trino: str | None) -> None:
    """Writes the passwords of these secrets to the files that the settings name."""
    settings = tomllib.loads(Path(os.environ["LK_CONFIG"]).read_text("utf-8"))
    if kafka:
        write_private(Path(settings["kafka_password_file"]), _read_secret(kafka)["password"])
    if trino:
        passwords = _read_secret(trino)
        write_private(Path(settings["trino_password_file"]), passwords[settings.get("trino_user", "lk")])
        reader = passwords[settings.get("trino_reader", "reader")]
        write_private(Path(settings["trino_reader_password_file"]), reader)


def _read_secret(arn: str) -> dict[str, str]:
    import boto3

    secret = boto3.client("secretsmanager", region_name=arn.split(":")[3]).get_secret_value(SecretId=arn)
    return dict(json.loads(secret["SecretString"]))


def _filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    files, path = fs.FileSystem.from_uri(uri.replace("s3a:", "s3:", 1))
    return files, path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
