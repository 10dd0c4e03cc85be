import java.io.{File, PrintWriter, RandomAccessFile}
import java.nio.channels.FileChannel
import java.nio.file.attribute.{FileTime, PosixFilePermissions}
import java.nio.file.{Files, Paths, StandardOpenOption}
import scala.io.Source

object Main {
  def main(args: Array[String]): Unit = {
    val (a, b, d) = (Paths.get("a.txt"), Paths.get("b.txt"), Paths.get("d"))
    val out = new PrintWriter(a.toFile)
    out.write("hello")
    out.close()
    Files.write(a, ", world".getBytes, StandardOpenOption.APPEND)
    Files.move(a, b)
    Files.createDirectories(d.resolve("e"))
    Files.copy(b, d.resolve("b.txt"))
    Files.createSymbolicLink(d.resolve("soft"), Paths.get("b.txt"))
    Files.createLink(d.resolve("hard"), b)
    Files.setPosixFilePermissions(b, PosixFilePermissions.fromString("rw-r-----"))
    Files.setLastModifiedTime(b, FileTime.fromMillis(2000))
    require(Files.getLastModifiedTime(b).toMillis == 2000 && Files.size(b) == 12)
    require(d.toFile.list.sorted.toList == List("b.txt", "e", "hard", "soft"))
    require(Source.fromFile("d/soft").mkString == "hello, world")
    val f = new RandomAccessFile("b.txt", "rw")
    require(f.getChannel.lock().isValid)
    f.getChannel.map(FileChannel.MapMode.READ_WRITE, 0, 5).put(0, 'J'.toByte)
    f.setLength(100)
    require(f.readByte() == 'J' && f.length == 100)
    f.close()
    def remove(file: File): Unit = {
      if (file.isDirectory) file.listFiles.foreach(remove)
      require(file.delete())
    }
    remove(d.toFile)
    remove(b.toFile)
    require(!Files.exists(d))
    println("files ok")
  }
}
