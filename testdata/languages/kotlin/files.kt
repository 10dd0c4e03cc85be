import java.io.File
import java.io.RandomAccessFile
import java.nio.channels.FileChannel
import java.nio.file.attribute.FileTime
import java.nio.file.attribute.PosixFilePermissions
import kotlin.io.path.*

fun main() {
    File("a.txt").writeText("hello")
    File("a.txt").appendText(", world")
    check(File("a.txt").renameTo(File("b.txt")))
    Path("d/e").createDirectories()
    File("b.txt").copyTo(File("d/b.txt"))
    Path("d/soft").createSymbolicLinkPointingTo(Path("b.txt"))
    Path("d/hard").createLinkPointingTo(Path("b.txt"))
    val b = Path("b.txt")
    b.setPosixFilePermissions(PosixFilePermissions.fromString("rw-r-----"))
    b.setLastModifiedTime(FileTime.fromMillis(2000))
    check(b.getLastModifiedTime().toMillis() == 2000L && b.fileSize() == 12L && Path("d/soft").isSymbolicLink())
    check(Path("d").listDirectoryEntries().map { it.name }.sorted() == listOf("b.txt", "e", "hard", "soft"))
    check(Path("d/soft").readText() == "hello, world" && File("b.txt").useLines { it.count() } == 1)
    RandomAccessFile("b.txt", "rw").use { f ->
        f.channel.lock().use { check(it.isValid) }
        val map = f.channel.map(FileChannel.MapMode.READ_WRITE, 0, 5)
        map.put(0, 'J'.code.toByte())
        map.force()
        f.setLength(100)
        check(f.readByte() == 'J'.code.toByte() && f.length() == 100L)
    }
    check(File("d").walk().count() == 5 && File(".").usableSpace > 0 && b.isWritable())
    check(File("d").deleteRecursively() && File("b.txt").delete() && !File("d").exists())
    println("files ok")
}
