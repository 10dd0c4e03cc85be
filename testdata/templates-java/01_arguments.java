import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(args.length + Arrays.toString(args) + System.getProperty("sun.java.command"));
    }
}
