class Main {
    Main() { throw new IllegalArgumentException("made"); }
    void main() { System.out.println("not reached"); }
}
