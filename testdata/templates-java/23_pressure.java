import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Map<Integer, byte[]> keep = new HashMap<>();
        long sum = 0;
        for (int i = 0; i < 20000; i++) { keep.put(i % 50, new byte[100000]); sum += keep.size(); }
        System.gc();
        System.out.println(sum + " " + keep.size());
    }
}
