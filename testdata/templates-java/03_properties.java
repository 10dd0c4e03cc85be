import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        new TreeMap<>(System.getProperties()).forEach((k, v) -> System.out.println(k + "=" + String.valueOf(v).trim()));
    }
}
