import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Random r = new Random(42);
        System.out.println(r.nextInt() + " " + r.nextGaussian() + " " + new SplittableRandom(1).nextLong());
        List<Integer> l = new ArrayList<>(List.of(1, 2, 3, 4, 5));
        Collections.shuffle(l, new Random(3));
        System.out.println(l);
    }
}
