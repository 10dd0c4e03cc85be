public class Main {
    static void main() { System.out.println("no arguments"); }
}
