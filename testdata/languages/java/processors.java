import java.util.concurrent.ForkJoinPool;

public class Main {
    public static void main(String[] args) {
        int n = Runtime.getRuntime().availableProcessors();
        if (ForkJoinPool.commonPool().getParallelism() < 1) throw new IllegalStateException("an empty pool");
        System.out.println("processors " + n);
    }
}
