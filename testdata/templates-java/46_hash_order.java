import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        Map<String, Integer> h = new HashMap<>();
        for (String s : "the quick brown fox jumps over the lazy dog".split(" ")) h.merge(s, 1, Integer::sum);
        System.out.println(h + " " + "hello".hashCode() + " " + List.of(1, 2).hashCode() + " " + Set.of(1, 2, 3).contains(2) + " " + Map.of("a", 1, "b", 2, "c", 3).get("b") + " " + new TreeSet<>(Set.of("x", "y", "z", "w")) + " " + Set.of("x", "y", "z", "w").stream().sorted().toList());
        System.out.println(Objects.hash(1, "a") + " " + Arrays.hashCode(new int[] {1, 2}) + " " + (new Object().hashCode() != new Object().hashCode()));
    }
}
