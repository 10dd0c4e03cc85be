public class Main {
    static int depth;
    static int f(int n) { depth = n; return f(n + 1) + 1; }
    static int g(int n) { return n == 0 ? 0 : 1 + g(n - 1); }
    public static void main(String[] args) throws Exception {
        try { f(0); } catch (StackOverflowError e) { System.out.println("caught " + (depth > 10000)); }
        Thread t = new Thread(() -> { try { f(0); } catch (StackOverflowError e) { System.out.println("in a thread"); } });
        t.start();
        t.join();
        System.out.println(g(50000));
        f(0);
    }
}
