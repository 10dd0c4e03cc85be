import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        var list = new ArrayList<Thread>();
        var n = new java.util.concurrent.atomic.AtomicInteger();
        for (int i = 0; i < 200; i++) list.add(Thread.ofVirtual().start(() -> { try { Thread.sleep(5); } catch (InterruptedException e) { } n.incrementAndGet(); }));
        for (Thread t : list) t.join();
        System.out.println(n);
    }
}
