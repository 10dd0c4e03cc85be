import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        new ProcessBuilder("sh", "-c", "kill -HUP $PPID").start();
        Thread.sleep(5000);
    }
}
