import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.err.println("err");
        System.out.printf("%d %s %.3f%n", 1, "x", 2.5);
        System.out.write(65);
        System.out.println("é√" + System.out.charset() + System.err.charset() + System.console());
        System.out.flush();
        System.err.printf("%s", "end");
    }
}
