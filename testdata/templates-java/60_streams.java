import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(java.util.stream.Stream.of("b", "a", "c").sorted(Comparator.reverseOrder()).collect(java.util.stream.Collectors.joining(",")) + java.util.stream.IntStream.rangeClosed(1, 5).boxed().collect(java.util.stream.Collectors.partitioningBy(i -> i % 2 == 0)));
        Object o = args.length;
        System.out.println(switch (o) { case Integer i when i > 2 -> "large " + i; case Integer i -> "small " + i; default -> "other"; });
    }
}
