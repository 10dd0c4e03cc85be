import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Object o = "x";
        Integer i = (Integer) o;
    }
}
