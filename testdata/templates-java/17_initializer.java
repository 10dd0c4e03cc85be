import java.util.*;
class Bad { static int x = 1 / Integer.parseInt("0"); }
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(Bad.x);
    }
}
