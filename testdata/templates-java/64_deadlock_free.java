import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        var lock = new java.util.concurrent.locks.ReentrantLock();
        var c = lock.newCondition();
        Thread t = new Thread(() -> { lock.lock(); try { c.signalAll(); } finally { lock.unlock(); } });
        lock.lock();
        t.start();
        c.await();
        lock.unlock();
        t.join();
        var q = new java.util.concurrent.ArrayBlockingQueue<Integer>(1);
        Thread.ofPlatform().start(() -> { try { for (int i = 0; i < 5; i++) q.put(i); } catch (InterruptedException e) { } });
        int s = 0;
        for (int i = 0; i < 5; i++) s += q.take();
        System.out.println(s);
    }
}
