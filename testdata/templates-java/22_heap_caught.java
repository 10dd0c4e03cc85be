import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        try { int[] a = new int[Integer.MAX_VALUE]; System.out.println(a.length); } catch (OutOfMemoryError e) { System.out.println(e.getMessage()); }
    }
}
