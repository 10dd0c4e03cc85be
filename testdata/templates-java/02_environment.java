import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(new TreeMap<>(System.getenv()));
        System.out.println(System.getenv("NAME"));
        System.out.println(new ProcessBuilder("sh", "-c", "echo $NAME").start().inputReader().readLine());
    }
}
