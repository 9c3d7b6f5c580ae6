"""The few things done to files of the lake and of checkpoints, on a folder and in an object store alike."""

from __future__ import annotations

from pyarrow import fs

from infra.lake import object_store


def filesystem(place: str) -> tuple[fs.FileSystem, str]:
    """The file system of a folder or URI, and the path in it."""
    if place.startswith("/"):
        return fs.LocalFileSystem(), place
    if object_store.is_object(place):
        return object_store.filesystem(place)
    found, path = fs.FileSystem.from_uri(place)
    return found, path


def folders(path: str) -> list[str]:
    """Names of the folders in a folder, sorted; none where it is missing."""
    files, root = filesystem(path)
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True))
    return sorted(info.base_name for info in found if info.type == fs.FileType.Directory)


def remove(path: str) -> bool:
    """Removes a folder with all that is in it; False when there was none."""
    files, root = filesystem(path)
    if files.get_file_info(root).type != fs.FileType.Directory:
        return False
    files.delete_dir(root)
    return True


def size(path: str) -> int:
    """Bytes below a folder."""
    files, root = filesystem(path)
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True))
    return sum(info.size or 0 for info in found if info.type == fs.FileType.File)


def replace(path: str, content: bytes) -> None:
    """Writes a file whole: who reads it sees what was there before, or this. Its folder must be there."""
    files, target = filesystem(path)
    part = target if object_store.is_object(path) else f"{target}.part"
    with files.open_output_stream(part) as out:
        out.write(content)
    if part != target:
        files.move(part, target)
