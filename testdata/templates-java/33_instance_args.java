class Other {
    private int n = 3;
    void main(String[] a) { System.out.println(n + a.length); throw new RuntimeException("from an instance"); }
}
