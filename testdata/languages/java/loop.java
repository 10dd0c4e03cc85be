public class Main {
	public static void main(String[] args) {
		for (long i = 0;; i++) {
		}
	}
}
