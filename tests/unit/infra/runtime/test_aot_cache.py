"""The AOT cache of the JVM has a name for each Java and each set of jars."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.runtime import aot_cache


@pytest.fixture
def java_home(tmp_path: Path) -> Path:
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="25"', "utf-8")
    return tmp_path / "java"


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "a.jar"
    path.write_bytes(b"classes")
    return path


def test_another_java_or_another_jar_has_another_cache(java_home: Path, jar: Path) -> None:
    names = [aot_cache.cache_file("spark", java_home, [jar], "")]
    os.utime(jar, (1, 1))
    names.append(aot_cache.cache_file("spark", java_home, [jar], ""))
    jar.write_bytes(b"more classes")
    names.append(aot_cache.cache_file("spark", java_home, [jar], ""))
    (java_home / "release").write_text('JAVA_VERSION="25.0.1"', "utf-8")
    names.append(aot_cache.cache_file("spark", java_home, [jar], ""))
    assert len(set(names)) == len(names)
    assert names[-1] == aot_cache.cache_file("spark", java_home, [jar], "")


@pytest.mark.parametrize("given", ["-Xshare:off", "-Xmx1g -XX:SharedArchiveFile=a.jsa", "-XX:AOTMode=off"])
def test_options_that_exclude_a_cache_are_obeyed(
    java_home: Path, jar: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert aot_cache.cache_file("spark", java_home, [jar], given) is None
    assert aot_cache.cache_file("spark", java_home, [jar], "-Xmx1g") is not None
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", given)
    assert aot_cache.cache_file("spark", java_home, [jar], "") is None


def test_a_java_without_such_caches_has_none(java_home: Path, jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aot_cache, "OLDEST", 17)
    assert aot_cache.cache_file("spark", java_home, [jar], "") is None


def test_training_writes_the_file_that_later_starts_read() -> None:
    assert aot_cache.training_options(Path("x.aot"))[0] == "-XX:AOTCacheOutput=x.aot"
    assert aot_cache.options(Path("x.aot"))[0] == "-XX:AOTCache=x.aot"
