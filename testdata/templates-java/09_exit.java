import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        System.out.print("no newline");
        System.exit(7);
    }
}
