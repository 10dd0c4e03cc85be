import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Scanner s = new Scanner(System.in);
        while (s.hasNextLine()) System.out.println("line " + s.nextLine());
        try { s.nextInt(); } catch (NoSuchElementException e) { System.out.println(e); }
    }
}
