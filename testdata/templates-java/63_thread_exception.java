import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> { throw new RuntimeException("in a thread"); }, "worker");
        t.start();
        t.join();
        System.out.println(t.getState());
    }
}
