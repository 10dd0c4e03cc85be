import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((t, e) -> System.out.println(t.getName() + " " + e));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        throw new Exception("handled");
    }
}
