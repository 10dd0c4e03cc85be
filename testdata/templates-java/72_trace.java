public class Main {
    static void a() { b(() -> { throw new UnsupportedOperationException("deep"); }); }
    static void b(Runnable r) { r.run(); }
    public static void main(String[] args) {
        StackWalker.getInstance().forEach(f -> System.out.println(f));
        new Throwable("shown").printStackTrace(System.out);
        a();
    }
}
