package numbers;

public class Seven {
	public static int value() {
		return 7;
	}
}
