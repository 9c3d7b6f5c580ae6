package lk

import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}

/** Hadoop's local file system; new files have the mode that the umask of the process gives.
  *
  * Hadoop starts the program `chmod` for each file and each of its checksums: several in every epoch.
  */
class LocalFiles extends LocalFileSystem(new RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = ()
})
