class Program {
    static void Main() {
        for (;;) { }
    }
}
