import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Process p = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC", "-Xmx64m", "-version").redirectErrorStream(true).start();
        System.out.println(p.inputReader().readLine() + " " + p.waitFor());
    }
}
