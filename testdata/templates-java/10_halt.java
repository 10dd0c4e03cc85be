import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("not said")));
        System.out.println("x");
        Runtime.getRuntime().halt(9);
    }
}
