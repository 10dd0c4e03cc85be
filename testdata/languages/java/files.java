import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.nio.file.attribute.*;
import java.util.Comparator;

public class Main {
	static void must(boolean ok, String what) { if (!ok) throw new IllegalStateException(what); }

	public static void main(String[] args) throws Exception {
		Path a = Path.of("a.txt"), b = Path.of("b.txt"), d = Path.of("d");
		Files.writeString(a, "hello");
		Files.writeString(a, ", world", StandardOpenOption.APPEND);
		Files.move(a, b);
		Files.createDirectories(d.resolve("e"));
		Files.copy(b, d.resolve("b.txt"), StandardCopyOption.COPY_ATTRIBUTES);
		Files.createSymbolicLink(d.resolve("soft"), Path.of("b.txt"));
		Files.createLink(d.resolve("hard"), b);
		Files.setPosixFilePermissions(b, PosixFilePermissions.fromString("rw-r-----"));
		Files.setLastModifiedTime(b, FileTime.fromMillis(2000));
		must(Files.getLastModifiedTime(b).toMillis() == 2000 && Files.isSymbolicLink(d.resolve("soft")), "attributes");
		must(Files.readString(d.resolve("soft")).equals("hello, world") && d.resolve("soft").toRealPath().endsWith("d/b.txt"), "link");
		try (var list = Files.list(d)) { must(list.count() == 4, "list"); }
		must(d.toFile().getUsableSpace() > 0 && Files.isWritable(b), "space");
		try (var c = FileChannel.open(b, StandardOpenOption.READ, StandardOpenOption.WRITE); var lock = c.lock()) {
			var map = c.map(FileChannel.MapMode.READ_WRITE, 0, 5);
			map.put(0, (byte) 'J');
			map.force();
			c.force(true);
			must(c.write(ByteBuffer.wrap("!".getBytes()), 5) == 1 && lock.isValid() && c.truncate(6).size() == 6, "channel");
			try (var copy = FileChannel.open(d.resolve("copy"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) { must(c.transferTo(0, 6, copy) == 6, "transfer"); }
		}
		try (var f = new RandomAccessFile("b.txt", "rw")) {
			f.setLength(100);
			f.seek(0);
			must(f.readByte() == 'J' && f.length() == 100, "random access");
		}
		try (var walk = Files.walk(d)) { for (Path p : walk.sorted(Comparator.reverseOrder()).toList()) Files.delete(p); }
		must(b.toFile().delete() && !Files.exists(d), "remove");
		System.out.println("files ok");
	}
}
