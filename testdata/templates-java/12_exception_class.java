import java.util.*;
class Mine extends Exception { Mine(int n) { super("mine " + n); addSuppressed(new Error("s")); } }
public class Main {
    public static void main(String[] args) throws Exception {
        throw new Mine(3);
    }
}
