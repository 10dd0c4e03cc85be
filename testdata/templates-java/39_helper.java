import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(Helper.twice(4) + " " + Helper.class);
    }
}
