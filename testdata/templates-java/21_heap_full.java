import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        List<int[]> all = new ArrayList<>();
        for (;;) all.add(new int[1 << 20]);
    }
}
