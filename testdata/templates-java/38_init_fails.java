class Main {
    static { if (true) throw new RuntimeException("static"); }
    public static void main(String[] args) { }
}
