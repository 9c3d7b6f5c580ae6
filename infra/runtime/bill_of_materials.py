"""Adds the jars and Trino to a CycloneDX bill of materials of the Python packages, and lists all licences.

``python -m infra.runtime.bill_of_materials PYTHON.json OUT.json``, as `make sbom` runs it.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from infra.runtime import jars_lock
from infra.runtime.jars_lock import Artifact
from infra.settings import Settings
from infra.settings.sources import read_settings

_UNKNOWN = "unknown"
_MANIFEST = "META-INF/MANIFEST.MF"
_LARGEST = 1024 * 1024  # bytes of a file that is read in a jar
_Component = dict[str, Any]


def with_downloads(python: Mapping[str, Any], artifacts: Iterable[Artifact], settings: Settings) -> dict[str, Any]:
    """The bill of the Python packages with a component for each download of the lock, with its sha256.

    The licence of a jar is what the jar says, if it is in the cache; Maven's parent files are not followed.
    """
    named = {f"{a.group}:{a.artifact}:{a.version}:{a.ext}": a for a in artifacts}
    downloads = [_component(artifact, settings) for _, artifact in sorted(named.items())]
    return {**python, "components": [*python.get("components", []), *downloads]}


def licences(bill: Mapping[str, Any]) -> dict[str, int]:
    """Licence -> how many components have it; a component with several counts once for each."""
    return dict(Counter(name for component in bill["components"] for name in _names(component)).most_common())


def licences_of_jar(path: Path) -> list[str]:
    """The licences that a jar names in its manifest, else in its POM; an empty list if it names none."""
    try:
        with zipfile.ZipFile(path) as jar:
            manifest = _text(jar, _MANIFEST).replace("\r\n ", "").replace("\n ", "")
            bundle = re.search(r"^Bundle-License: *(.+?)\s*$", manifest, re.M)
            poms = [name for name in jar.namelist() if re.fullmatch(r"META-INF/maven/[^/]+/[^/]+/pom\.xml", name)]
            texts = [_text(jar, name) for name in poms[:1]]
    except (OSError, zipfile.BadZipFile):
        return []
    if bundle:
        return [part.split(";")[0].strip().strip('"') for part in re.split(r",(?! *[Vv]ersion)", bundle[1])]
    blocks = [block for text in texts for block in re.findall(r"<license>(.*?)</license>", text, re.S)]
    return [name for block in blocks for name in re.findall(r"<name>\s*(.*?)\s*</name>", block, re.S)]


def _component(artifact: Artifact, settings: Settings) -> _Component:
    kind = "" if artifact.ext == "jar" else f"?type={quote(artifact.ext)}"
    purl = f"pkg:maven/{quote(artifact.group)}/{quote(artifact.artifact)}@{quote(artifact.version)}{kind}"
    cached = sorted(settings.cache.glob(f"{artifact.set}-*/{artifact.file_name}"))
    names = licences_of_jar(cached[-1]) if cached and artifact.ext == "jar" else []
    return {
        "type": "library" if artifact.ext == "jar" else "application",
        "bom-ref": purl,
        "group": artifact.group,
        "name": artifact.artifact,
        "version": artifact.version,
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": artifact.sha256}],
        **({"licenses": [{"license": {"name": name}} for name in names]} if names else {}),
    }


def _names(component: _Component) -> list[str]:
    stated = component.get("licenses", [])
    texts = [entry.get("expression") or _of(entry.get("license", {})) for entry in stated]
    return sorted({text for text in texts if text}) or [_UNKNOWN]


def _of(licence: Mapping[str, Any]) -> str:
    return str(licence.get("id") or licence.get("name") or "")


def _text(jar: zipfile.ZipFile, name: str) -> str:
    try:
        with jar.open(name) as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except KeyError:
        return ""


def main(source: Path, target: Path) -> None:
    """Writes the whole bill, and prints the licences with their numbers of components."""
    bill = with_downloads(json.loads(source.read_text("utf-8")), jars_lock.read_lock(), read_settings())
    target.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
    print(f"{len(bill['components'])} components in {target}")
    for name, count in licences(bill).items():
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
