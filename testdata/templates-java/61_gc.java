import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        var ref = new java.lang.ref.WeakReference<>(new Object());
        var queue = new java.lang.ref.ReferenceQueue<Object>();
        var phantom = new java.lang.ref.PhantomReference<>(new Object(), queue);
        var cleaned = new java.util.concurrent.CountDownLatch(1);
        java.lang.ref.Cleaner.create().register(new Object(), cleaned::countDown);
        System.gc();
        System.out.println((ref.get() == null) + " " + (queue.remove(5000) == phantom) + " " + cleaned.await(5, java.util.concurrent.TimeUnit.SECONDS));
    }
}
