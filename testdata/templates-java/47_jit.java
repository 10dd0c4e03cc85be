import java.util.*;
public class Main {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] args) throws Exception {
        long s = 0;
        for (int k = 0; k < 200; k++) for (int i = 0; i < 100000; i++) s += i % 7 * (k ^ i);
        System.out.println(s + " " + fib(30));
        double d = 0;
        for (int i = 1; i < 5000000; i++) d += 1.0 / i * Math.sin(i);
        System.out.println(d);
    }
}
