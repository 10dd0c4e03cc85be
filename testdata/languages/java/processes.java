import java.util.concurrent.*;

public class Main {
	static void must(boolean ok, String what) { if (!ok) throw new IllegalStateException(what); }

	public static void main(String[] args) throws Exception {
		must(new ProcessBuilder("sh", "-c", "exit 3").start().waitFor() == 3, "exit");
		Process cat = Runtime.getRuntime().exec(new String[]{"cat"});
		try (var in = cat.getOutputStream()) { in.write("through".getBytes()); }
		must(new String(cat.getInputStream().readAllBytes()).equals("through") && cat.waitFor() == 0, "pipe");
		Process sleeper = new ProcessBuilder("sleep", "9").start();
		must(!sleeper.waitFor(10, TimeUnit.MILLISECONDS) && sleeper.isAlive() && ProcessHandle.current().pid() > 0, "alive");
		sleeper.destroy();
		must(sleeper.onExit().get().exitValue() == 143, "destroy");
		try (var pool = Executors.newFixedThreadPool(4)) { must(pool.submit(() -> 7).get() == 7, "pool"); }
		var timer = Executors.newSingleThreadScheduledExecutor();
		must(timer.schedule(() -> 1, 10, TimeUnit.MILLISECONDS).get() == 1, "timer");
		timer.shutdown();
		var late = Thread.ofVirtual().start(() -> { });
		late.join();
		must(System.in.available() == 0 && Runtime.getRuntime().availableProcessors() >= 1, "machine");
		System.out.println("processes ok");
	}
}
