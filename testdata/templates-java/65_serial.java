import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        var b = new java.io.ByteArrayOutputStream();
        new java.io.ObjectOutputStream(b).writeObject(new ArrayList<>(List.of(1, "x")));
        System.out.println(new java.io.ObjectInputStream(new java.io.ByteArrayInputStream(b.toByteArray())).readObject() + " " + b.size());
        var z = new java.io.ByteArrayOutputStream();
        try (var g = new java.util.zip.GZIPOutputStream(z)) { g.write(new byte[1000]); }
        System.out.println(z.size() + " " + new java.util.zip.GZIPInputStream(new java.io.ByteArrayInputStream(z.toByteArray())).readAllBytes().length);
    }
}
