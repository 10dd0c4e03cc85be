public class Main {
	public static void main(String[] args) {
		System.out.println(numbers.Seven.value() + " from another file");
	}
}
