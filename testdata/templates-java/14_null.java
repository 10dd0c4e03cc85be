import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        int[] a = null;
        String s = null;
        try { s.length(); } catch (NullPointerException e) { System.out.println(e.getMessage()); }
        a[3] = 1;
    }
}
