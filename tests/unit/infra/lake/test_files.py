"""Folders of the lake are listed while other processes make and delete them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from pyarrow import fs

from infra.lake import files

LISTINGS = 30_000  # Arrow alone failed in 1 of 20,000


def test_a_folder_that_is_made_and_deleted_meanwhile_is_listed(tmp_path: Path) -> None:
    folder, stop = tmp_path / "_checksums", threading.Event()

    def make_and_delete() -> None:
        while not stop.is_set():
            folder.mkdir()
            folder.rmdir()

    other = threading.Thread(target=make_and_delete)
    other.start()
    try:
        listed = [files.entries(fs.LocalFileSystem(), str(folder)) for _ in range(LISTINGS)]
    finally:
        stop.set()
        other.join()
    assert [entries for entries in listed if entries] == []


def test_a_folder_that_is_not_there_is_empty_and_one_that_is_has_its_files(tmp_path: Path) -> None:
    local = fs.LocalFileSystem()
    assert files.entries(local, str(tmp_path / "none")) == []
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"12")
    assert [entry.base_name for entry in files.entries(local, str(tmp_path))] == ["a"]
    assert sorted(entry.base_name for entry in files.entries(local, str(tmp_path), recursive=True)) == ["a", "b", "c"]
    assert files.size(str(tmp_path)) == 2


def test_a_file_of_which_nothing_was_written_takes_nothing_of_the_disk(tmp_path: Path) -> None:
    """Kafka reserves 10 MB for each index of a segment, of which it writes some KB."""
    megabytes = 1024 * 1024
    with (tmp_path / "index").open("wb") as index:
        index.truncate(10 * megabytes)
    (tmp_path / "log").write_bytes(os.urandom(megabytes))
    files.sync([tmp_path / "log"])  # a file system may give blocks as late as that
    assert files.size(str(tmp_path)) == 11 * megabytes
    assert megabytes <= files.disk_use(str(tmp_path)) < 2 * megabytes
