import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        var pool = java.util.concurrent.Executors.newFixedThreadPool(4);
        long sum = 0;
        for (var f : pool.invokeAll(Collections.nCopies(20, (java.util.concurrent.Callable<Long>) () -> 21L))) sum += f.get();
        pool.shutdown();
        System.out.println(sum + " " + java.util.stream.IntStream.range(0, 100000).parallel().sum() + " " + java.util.concurrent.ForkJoinPool.commonPool().getParallelism());
        System.out.println(java.util.concurrent.CompletableFuture.supplyAsync(() -> "async").get());
    }
}
