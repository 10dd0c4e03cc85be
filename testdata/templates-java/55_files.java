import java.io.*;
import java.nio.file.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Path d = Files.createTempDirectory(Path.of("."), "d").getFileName();
        Files.writeString(d.resolve("a.txt"), "text");
        System.out.println(Files.readString(d.resolve("a.txt")) + Files.size(d.resolve("a.txt")) + Files.exists(Path.of("nothing")) + new File("Main.java").length());
        try { Files.readString(Path.of("nothing")); } catch (IOException e) { System.out.println(e); }
        try (var s = Files.walk(Path.of("classes"))) { System.out.println(s.map(Path::toString).sorted().toList()); }
        Files.delete(d.resolve("a.txt"));
        Files.delete(d);
    }
}
