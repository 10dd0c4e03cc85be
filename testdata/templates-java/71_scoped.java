import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        ScopedValue<String> v = ScopedValue.newInstance();
        ScopedValue.where(v, "bound").run(() -> System.out.println(v.get()));
        ThreadLocal<Integer> t = ThreadLocal.withInitial(() -> 5);
        System.out.println(t.get());
        var i = new InheritableThreadLocal<String>();
        i.set("inherited");
        Thread x = new Thread(() -> System.out.println(i.get()));
        x.start();
        x.join();
    }
}
