"""The bill of materials has the downloads of the lock with their sums, and says which licences are unknown."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from infra.runtime import bill_of_materials
from infra.runtime.bill_of_materials import licences, licences_of_jar, with_downloads
from infra.runtime.jars_lock import Artifact
from infra.settings import Settings

PYTHON: dict[str, Any] = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "components": [
        {"type": "library", "name": "click", "licenses": [{"license": {"id": "BSD-3-Clause"}}]},
        {"type": "library", "name": "both", "licenses": [{"expression": "MIT OR Apache-2.0"}]},
    ],
}
JAR = Artifact("kafka", "org.example", "one", "1.0", "jar", 9, "a" * 64)
TAR = Artifact("trino", "io.trino", "trino-server", "476", "tar.gz", 9, "b" * 64)
POM = "<project><licenses><license>\n<name> The Apache License </name></license></licenses></project>"


def jar(path: Path, **files: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as target:
        for name, text in files.items():
            target.writestr({"manifest": "META-INF/MANIFEST.MF", "pom": "META-INF/maven/g/a/pom.xml"}[name], text)
    return path


def test_every_download_is_a_component_with_its_sum(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, cache=tmp_path / "cache")
    jar(tmp_path / "cache" / "kafka-1234" / "one-1.0.jar", pom=POM)
    bill = with_downloads(PYTHON, [TAR, JAR, JAR], settings)
    assert [component["name"] for component in bill["components"]] == ["click", "both", "trino-server", "one"]
    trino, jar_component = bill["components"][2:]
    assert trino["purl"] == "pkg:maven/io.trino/trino-server@476?type=tar.gz"
    assert jar_component["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert jar_component["licenses"] == [{"license": {"name": "The Apache License"}}]
    assert licences(bill) == {"BSD-3-Clause": 1, "MIT OR Apache-2.0": 1, "unknown": 1, "The Apache License": 1}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"manifest": "Bundle-License: Apache-2.0;link=x, MIT\r\n"}, ["Apache-2.0", "MIT"]),
        ({"manifest": "Bundle-License: https://www.apache.org/lice\r\n nses/LICENSE-2.0\r\n"},
         ["https://www.apache.org/licenses/LICENSE-2.0"]),
        ({"manifest": "Bundle-License: Apache License, Version 2.0\r\n"}, ["Apache License, Version 2.0"]),
        ({"manifest": "Name: x\n", "pom": POM}, ["The Apache License"]),
        ({}, []),
    ],
)  # fmt: skip
def test_the_licence_of_a_jar_is_what_it_says(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    assert licences_of_jar(jar(tmp_path / "x.jar", **files)) == expected


def test_a_file_that_is_no_jar_has_no_licence(tmp_path: Path) -> None:
    (tmp_path / "x.jar").write_text("no zip", "utf-8")
    assert licences_of_jar(tmp_path / "x.jar") == []


def test_the_real_lock_gives_a_whole_bill(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "python.json"
    source.write_text(json.dumps(PYTHON), "utf-8")
    bill_of_materials.main(source, tmp_path / "sbom.json")
    bill = json.loads((tmp_path / "sbom.json").read_text("utf-8"))
    names = {component["name"] for component in bill["components"]}
    assert {"click", "trino-server", "kafka-clients", "delta-storage"} <= names
    assert "unknown" in capsys.readouterr().out
