import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Thread.getAllStackTraces().keySet().stream().map(t -> t.getName() + " " + t.threadId() + " " + t.isDaemon() + " " + t.getPriority() + " " + t.getThreadGroup().getName()).sorted().forEach(System.out::println);
        System.out.println(Thread.currentThread() + " " + Thread.activeCount() + " " + Thread.currentThread().getContextClassLoader().getClass());
        System.out.println(Arrays.toString(Thread.currentThread().getStackTrace()));
    }
}
