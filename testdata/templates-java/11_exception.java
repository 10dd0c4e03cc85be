import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        throw new IllegalStateException("what", new RuntimeException("why"));
    }
}
