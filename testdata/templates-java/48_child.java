import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Process p = new ProcessBuilder("sh", "-c", "cat; echo $0 $1; exit 3", "a", "b").start();
        p.outputWriter().append("in\n").close();
        System.out.print(new String(p.getInputStream().readAllBytes()));
        System.out.println(p.waitFor() + " " + p.info().command().isPresent());
        try { new ProcessBuilder("nothing-here").start(); } catch (java.io.IOException e) { System.out.println(e.getMessage()); }
        System.out.println(new ProcessBuilder("sh", "-c", "kill -9 $$").start().waitFor());
    }
}
