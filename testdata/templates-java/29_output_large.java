import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < 20000; i++) b.append("line ").append(i).append('\n');
        System.out.print(b);
    }
}
