import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        int[] a = new int[2];
        a[args.length + 5] = 1;
    }
}
