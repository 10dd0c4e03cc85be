import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        assert args.length == 99 : "checked";
    }
}
