public class Main {
    static class A { static void f() { System.out.println("f"); } }
    public static void main(String[] args) throws Exception {
        new java.io.File("classes/Main$A.class").delete();
        A.f();
    }
}
