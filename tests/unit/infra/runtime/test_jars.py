"""The lock is parsed strictly; a file that differs from it is downloaded again, then refused."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from core.errors import Refused
from infra import progress_bar
from infra.progress_bar import bar
from infra.runtime import ivy, jars, jars_lock
from infra.runtime.jars_lock import Artifact
from infra.settings import Settings

GOOD = {"one": b"first file", "two": b"second file"}


def entry(name: str, content: bytes, ext: str = "jar", set_name: str = "spark") -> Artifact:
    return Artifact(set_name, "org.example", name, "1.0", ext, len(content), hashlib.sha256(content).hexdigest())


def lock_of(folder: Path, *artifacts: Artifact) -> Path:
    path = folder / "jars.lock"
    path.write_text("# a comment\n\n" + "".join(f"{a}\n" for a in artifacts), "utf-8")
    return path


class Repository:
    """Returns the contents of each file in turn. None is a missing file. The last contents repeat."""

    def __init__(self, **contents: Sequence[bytes | None]) -> None:
        self.contents = {name: list(turns) for name, turns in contents.items()}
        self.requests: list[list[str]] = []

    def __call__(
        self, _: Settings, artifacts: Sequence[Artifact], folder: Path, report: Callable[[int], None]
    ) -> Mapping[Artifact, Path]:
        self.requests.append([a.artifact for a in artifacts])
        came = {}
        for artifact in artifacts:
            turns = self.contents[artifact.artifact]
            content = turns.pop(0) if len(turns) > 1 else turns[0]
            if content is not None:
                came[artifact] = folder / artifact.file_name
                came[artifact].write_bytes(content)
        report(1)
        return came


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", cache=tmp_path / "cache")


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return lock_of(tmp_path, *(entry(name, content) for name, content in GOOD.items()))


def ensure(settings: Settings, lock: Path, repository: Repository) -> Path:
    return jars.ensure_jars(settings, "spark", fetch=repository, lock=lock, wait=0)


def test_a_set_is_downloaded_once(settings: Settings, lock: Path) -> None:
    repository = Repository(one=[GOOD["one"]], two=[GOOD["two"]])
    folder = ensure(settings, lock, repository)
    assert sorted(path.name for path in folder.glob("*.jar")) == ["one-1.0.jar", "two-1.0.jar"]
    assert ensure(settings, lock, repository) == folder
    assert repository.requests == [["one", "two"]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    monkeypatch.setattr(progress_bar, "_quiet", False)
    return lambda: capsys.readouterr().err.splitlines()


def test_a_download_prints_one_line_with_its_size(
    settings: Settings, lock: Path, printed: Callable[[], list[str]]
) -> None:
    ensure(settings, lock, Repository(one=[GOOD["one"]], two=[GOOD["two"]]))
    assert printed() == ["Downloading Spark (2 files, 0 MB)"]


def test_a_large_download_without_a_terminal_prints_when_half_is_there(printed: Callable[[], list[str]]) -> None:
    with bar("Downloading Trino", 800_000_000, "bytes") as report:
        for completed in (100_000_000, 390_000_000, 410_000_000, 700_000_000, 800_000_000):
            report(completed)
    assert printed() == ["Downloading Trino: 410 of 800 MB"]


def test_only_a_tampered_file_is_downloaded_again(settings: Settings, lock: Path) -> None:
    repository = Repository(one=[GOOD["one"]], two=[b"second fil3", GOOD["two"]])
    folder = ensure(settings, lock, repository)
    assert repository.requests == [["one", "two"], ["two"]]
    assert (folder / "two-1.0.jar").read_bytes() == GOOD["two"]


def test_an_incomplete_file_is_downloaded_again(settings: Settings, lock: Path) -> None:
    repository = Repository(one=[None, GOOD["one"]], two=[GOOD["two"][:4], GOOD["two"]])
    ensure(settings, lock, repository)
    assert repository.requests == [["one", "two"], ["one", "two"]]


def test_a_file_that_never_matches_the_lock_is_refused(settings: Settings, lock: Path) -> None:
    repository = Repository(one=[GOOD["one"]], two=[b"evil"])
    with pytest.raises(Refused, match=r"sha256 differs from the lock: two-1.0.jar, after 3 attempts"):
        ensure(settings, lock, repository)
    assert [path.name for path in settings.cache.rglob("*.jar") if ".download" not in path.parts] == ["one-1.0.jar"]
    repository = Repository(one=[None], two=[GOOD["two"]])
    ensure(settings, lock, repository)
    assert repository.requests == [["two"]]


def test_a_file_damaged_before_the_set_is_complete_is_detected(settings: Settings, lock: Path) -> None:
    with pytest.raises(Refused, match=r"download failed: two-1\.0\.jar"):
        ensure(settings, lock, Repository(one=[GOOD["one"]], two=[None]))
    (damaged,) = (path for path in settings.cache.rglob("one-1.0.jar") if ".download" not in path.parts)
    damaged.write_bytes(b"fir5t file")
    repository = Repository(one=[GOOD["one"]], two=[GOOD["two"]])
    ensure(settings, lock, repository)
    assert repository.requests == [["one", "two"]]


def test_another_version_has_another_folder(settings: Settings, tmp_path: Path) -> None:
    old = ensure(settings, lock_of(tmp_path, entry("one", b"old")), Repository(one=[b"old"]))
    new = ensure(settings, lock_of(tmp_path, entry("one", b"new")), Repository(one=[b"new"]))
    assert old != new
    assert (old / "one-1.0.jar").read_bytes() == b"old"


def test_only_the_parts_used_are_unpacked_with_what_they_link_to(settings: Settings, tmp_path: Path) -> None:
    packed = archive(
        {
            "srv/lib/a.jar": b"a",
            "srv/plugin/other/b.jar": b"b",
            "srv/plugin/delta-lake/c.jar": b"c",
            "srv/plugin/http-event-listener/f.jar": b"f",
            "srv/plugin/password-authenticators/d.jar": b"d",
            "srv/plugin/resource-group-managers/e.jar": b"e",
        },
        links={"srv/plugin/delta-lake/b.jar": "srv/plugin/other/b.jar"},
    )
    lock = lock_of(tmp_path, entry("srv", packed, "tar.gz"))
    folder = ensure(settings, lock, Repository(srv=[packed]))
    unpacked = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.jar")}
    assert unpacked == {
        "lib/a.jar": b"a",
        "plugin/delta-lake/b.jar": b"b",
        "plugin/delta-lake/c.jar": b"c",
        "plugin/http-event-listener/f.jar": b"f",
        "plugin/password-authenticators/d.jar": b"d",
        "plugin/resource-group-managers/e.jar": b"e",
    }
    assert list(folder.glob("*.gz")) == []


def archive(files: Mapping[str, bytes], links: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, target in links.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.LNKTYPE, target
            tar.addfile(member)
    return out.getvalue()


def test_ivy_downloads_from_the_repository_in_its_settings(settings: Settings, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    published = repository / "org" / "example" / "one" / "1.0" / "one-1.0.jar"
    published.parent.mkdir(parents=True)
    published.write_bytes(GOOD["one"])
    how = tmp_path / "ivysettings.xml"
    how.write_text(
        '<ivysettings><settings defaultResolver="here"/><resolvers>'
        f'<ibiblio name="here" m2compatible="true" usepoms="false" root="{repository.as_uri()}/"/>'
        "</resolvers></ivysettings>",
        "utf-8",
    )
    settings = settings.model_copy(update={"ivy_settings": how})
    published_artifact, absent = entry("one", GOOD["one"]), entry("two", GOOD["two"])
    assert list(ivy.fetch_artifacts(settings, [published_artifact, absent], tmp_path / "x", lambda _: None)) == [
        published_artifact
    ]
    folder = jars.ensure_jars(settings, "spark", lock=lock_of(tmp_path, published_artifact), wait=0)
    assert (folder / "one-1.0.jar").read_bytes() == GOOD["one"]


@pytest.mark.parametrize(
    "line",
    [
        "spark org.example:one:1.0:jar 5",
        f"spark org.example:one:1.0:jar 5 {'g' * 64}",
        f"spark org.example:one:jar 5 {'0' * 64}",
        f"spark org.example:../one:1.0:jar 5 {'0' * 64}",
        f"spark ..:one:1.0:jar 5 {'0' * 64}",
    ],
)
def test_a_malformed_line_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "jars.lock"
    path.write_text(f"# comment\n{line}\n", "utf-8")
    with pytest.raises(Refused) as caught:
        jars_lock.read_lock(path)
    assert caught.value.where == f"{path}:2"


def test_a_file_listed_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="listed twice"):
        jars_lock.read_lock(lock_of(tmp_path, entry("one", b"x"), entry("one", b"y")))


def test_the_committed_lock_has_every_set() -> None:
    counts = {
        name: sum(a.set == name for a in jars_lock.read_lock())
        for name in (*jars.SETS, "aws", "emr", "flink", "streams")
    }
    expected = {"spark": 6, "kafka": 46, "trino": 1, "aws": 3, "emr": 6, "flink": 47, "streams": 2}
    assert counts == expected
    assert len(jars_lock.read_lock()) == 111
