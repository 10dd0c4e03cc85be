import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String l; (l = in.readLine()) != null; ) System.out.println(l.length() + l);
    }
}
