package lk

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.FileAlreadyExistsException

import scala.jdk.CollectionConverters._

import io.delta.storage.HadoopFileSystemLogStore
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.io.IOUtils

/** Delta's log in a store with conditional puts: of two writers of one version, the second one fails. */
class CommitOnce(conf: Configuration) extends HadoopFileSystemLogStore(conf) {

  override def write(
      path: Path, actions: java.util.Iterator[String], overwrite: java.lang.Boolean, conf: Configuration): Unit = {
    val files = path.getFileSystem(conf)
    val content = actions.asScala.map(_ + "\n").mkString.getBytes(UTF_8)
    try put(files, path, content, overwrite)
    catch {
      // The response to a successful put may be lost; its retry then fails although the content is ours.
      case _: IOException if !overwrite && files.exists(path) =>
        if (!java.util.Arrays.equals(content, read(files, path))) throw new FileAlreadyExistsException(path.toString)
    }
  }

  override def isPartialWriteVisible(path: Path, conf: Configuration): java.lang.Boolean = false

  private def put(files: FileSystem, path: Path, content: Array[Byte], overwrite: Boolean): Unit = {
    val request = files.createFile(path).create().recursive()
    // A store without conditional puts refuses this option, and nothing is written.
    val builder = if (overwrite) request.overwrite(true) else request.must("fs.option.create.conditional.overwrite", true)
    val out = builder.build()
    try out.write(content)
    finally out.close()
  }

  private def read(files: FileSystem, path: Path): Array[Byte] = {
    val in = files.open(path)
    try IOUtils.readFullyToByteArray(in)
    finally in.close()
  }
}
