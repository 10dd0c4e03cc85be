import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        try (var in = System.in) { System.out.println(Arrays.toString(in.readAllBytes())); }
    }
}
