import java.util.*;
public class Main {
    public static void main(String[] args) throws Throwable {
        for (var x : Main.class.getDeclaredMethods()) System.out.println(x);
        record P(int a, String b) { }
        System.out.println(new P(1, "x") + " " + new P(1, "x").equals(new P(1, "x")) + " " + P.class.getRecordComponents().length);
        var h = java.lang.invoke.MethodHandles.lookup().findVirtual(String.class, "length", java.lang.invoke.MethodType.methodType(int.class));
        System.out.println((int) h.invoke("four"));
        Runnable r = (Runnable) java.lang.reflect.Proxy.newProxyInstance(Main.class.getClassLoader(), new Class<?>[] {Runnable.class}, (p, q, a) -> { System.out.println(q.getName()); return null; });
        r.run();
    }
}
