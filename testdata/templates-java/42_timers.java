import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        var timer = new Timer(true);
        var latch = new java.util.concurrent.CountDownLatch(3);
        timer.schedule(new TimerTask() { public void run() { latch.countDown(); } }, 5, 5);
        System.out.println(latch.await(5, java.util.concurrent.TimeUnit.SECONDS));
        long t = System.nanoTime();
        Thread.sleep(20);
        long d = System.nanoTime() - t;
        System.out.println(d >= 20000000L && d < 2000000000L);
        synchronized (timer) { timer.wait(10); }
        System.out.println(java.util.concurrent.Executors.newScheduledThreadPool(1, r -> { Thread x = new Thread(r); x.setDaemon(true); return x; }).schedule(() -> 42, 10, java.util.concurrent.TimeUnit.MILLISECONDS).get());
    }
}
