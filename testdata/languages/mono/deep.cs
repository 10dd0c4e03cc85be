class Deep {
    static int F(int n) { return n == 0 ? 0 : 1 + F(n - 1); }
    static void Main() { System.Console.WriteLine(F(100000)); }
}
