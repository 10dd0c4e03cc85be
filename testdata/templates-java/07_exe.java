import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(java.nio.file.Files.readSymbolicLink(java.nio.file.Path.of("/proc/self/exe")));
    }
}
