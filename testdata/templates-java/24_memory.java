import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Runtime r = Runtime.getRuntime();
        System.out.println(r.maxMemory() + " " + r.totalMemory() + " " + (r.freeMemory() > 1000000) + " " + r.availableProcessors() + " " + Runtime.version());
    }
}
