import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> { try { Thread.sleep(10000); } catch (InterruptedException e) { System.out.println("interrupted"); } });
        t.setDaemon(true);
        t.start();
        Thread u = new Thread(() -> { try { Thread.sleep(50); System.out.println("after main"); } catch (InterruptedException e) { } });
        u.start();
        System.out.println("main ends");
    }
}
