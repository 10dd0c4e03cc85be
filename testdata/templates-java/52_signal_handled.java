import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        sun.misc.Signal.handle(new sun.misc.Signal("INT"), s -> { System.out.println(s.getName() + s.getNumber()); System.exit(4); });
        sun.misc.Signal.raise(new sun.misc.Signal("INT"));
        Thread.sleep(5000);
    }
}
