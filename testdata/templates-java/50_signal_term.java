import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        new ProcessBuilder("kill", String.valueOf(ProcessHandle.current().pid())).start();
        Thread.sleep(5000);
        System.out.println("not reached");
    }
}
