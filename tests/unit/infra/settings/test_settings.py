"""Settings come from the file and the environment, and one error lists every invalid setting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.errors import Usage
from infra.local import ui_server
from infra.settings import Settings
from infra.settings.sources import read_settings


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("LK_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def written(folder: Path, text: str, name: str = "lk.toml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_defaults_are_one_local_instance(tmp_path: Path) -> None:
    settings = read_settings()
    assert settings.bootstrap_servers == "127.0.0.1:19092"
    assert settings.trino_url == "http://127.0.0.1:18080"
    assert settings.lake_root == str(tmp_path / ".data" / "lake")
    assert settings.checkpoint_root == str(tmp_path / ".data" / "checkpoints")
    assert (settings.manages_kafka, settings.manages_trino, settings.lake_is_local) == (True, True, True)


def test_the_environment_overrides_the_file_and_the_file_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, 'kafka_port = 1001\ntrino_port = 1002\nspark_conf = {"spark.x" = "1"}')
    monkeypatch.setenv("LK_TRINO_PORT", "1003")
    settings = read_settings()
    assert (settings.kafka_port, settings.trino_port, settings.kafka_controller_port) == (1001, 1003, 19093)
    assert settings.spark_conf == {"spark.x": "1"}


def test_the_config_option_overrides_the_file_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "kafka_port = 1")
    named = written(tmp_path, "kafka_port = 2", "two.toml")
    monkeypatch.setenv("LK_CONFIG", str(named))
    assert read_settings().kafka_port == 2
    assert read_settings(written(tmp_path, "kafka_port = 3", "three.toml")).kafka_port == 3


def test_settings_know_the_file_that_commands_must_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settings().named_file is None
    plain = written(tmp_path, "kafka_port = 1")
    assert [read_settings(path).named_file for path in (None, plain, Path("lk.toml"))] == [None, None, None]
    two = written(tmp_path, "kafka_port = 2", "two.toml")
    assert read_settings(Path("two.toml")).named_file == two
    monkeypatch.setenv("LK_CONFIG", "two.toml")
    assert read_settings().named_file == two
    assert read_settings().model_copy(update={"ui_port": 5}).named_file == two


@pytest.mark.parametrize("name", ["lk.toml", "two.toml"])
def test_the_live_page_reads_a_file_that_was_named_relative_to_our_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Its working directory is the folder of the logs."""
    written(tmp_path, "kafka_port = 2", name)
    monkeypatch.setenv("LK_CONFIG", name)
    server = ui_server.server(read_settings())
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path / "logs")
    for key, value in server.env.items():
        monkeypatch.setenv(key, value)
    assert read_settings().kafka_port == 2
    assert read_settings().named_file == (None if name == "lk.toml" else tmp_path / name)


def test_lists_and_tables_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LK_VIEWS", f"mine{os.pathsep}/theirs")
    monkeypatch.setenv("LK_SPARK_CONF", '{"spark.y": "2"}')
    settings = read_settings()
    assert settings.views == (tmp_path / "mine", Path("/theirs"))
    assert settings.spark_conf == {"spark.y": "2"}


def test_a_settings_file_can_name_a_remote_cluster(tmp_path: Path) -> None:
    written(tmp_path, 'bootstrap = "k1:9092,k2:9092"\ntrino_host = "t"\nlake = "s3a://bucket/lake/"\n')
    settings = read_settings()
    assert settings.bootstrap_servers == "k1:9092,k2:9092"
    assert settings.trino_url == "http://t:18080"
    assert settings.lake_root == "s3a://bucket/lake"
    assert (settings.manages_kafka, settings.manages_trino, settings.lake_is_local) == (False, False, False)


def test_a_file_uri_is_a_folder(tmp_path: Path) -> None:
    assert read_settings(written(tmp_path, 'lake = "file:///srv/lake"')).lake_root == "/srv/lake"


def test_one_error_lists_every_invalid_setting_with_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, 'kafka_prot = 5\nkafka_port = "many"\nspark_memory = "lots"\nfold_behind = 0\n')
    monkeypatch.setenv("LK_TRINO_PORT", "99999")
    monkeypatch.setenv("LK_SPARK_CONF", "{spark")
    with pytest.raises(Usage) as caught:
        read_settings(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == "6 settings are invalid:"
    lines_by_name = {line.split()[0].rstrip(":"): line for line in lines[1:7]}
    assert sorted(lines_by_name) == [
        "fold_behind",
        "kafka_port",
        "kafka_prot",
        "spark_conf",
        "spark_memory",
        "trino_port",
    ]
    assert str(path) in lines_by_name["kafka_port"]
    assert "(LK_TRINO_PORT)" in lines_by_name["trino_port"]
    assert "did you mean kafka_port?" in lines_by_name["kafka_prot"]


def test_ports_of_one_instance_must_differ() -> None:
    with pytest.raises(ValueError, match="kafka_port and trino_port"):
        Settings(kafka_port=7000, trino_port=7000)


@pytest.mark.parametrize("text", ["kafka_port = ", "\udce9"])
def test_a_file_that_is_not_toml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(Usage, match="cannot be read"):
        read_settings(path)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="the settings file does not exist"):
        read_settings(tmp_path / "none.toml")


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_a_remote_trino_can_use_https() -> None:
    assert Settings(trino_host="trino.example.org", trino_port=443).trino_url == "http://trino.example.org:443"
    assert Settings(trino_host="trino.example.org", trino_port=443, trino_tls=True).trino_url == (
        "https://trino.example.org:443"
    )
