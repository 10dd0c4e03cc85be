public class Main {
    static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }

    public static void main(String[] args) { System.out.println(deep(100000)); }
}
