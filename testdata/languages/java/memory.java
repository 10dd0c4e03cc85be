import java.util.ArrayList;

public class Main {
	public static void main(String[] args) {
		var kept = new ArrayList<byte[]>();
		for (;;) {
			var block = new byte[1 << 20];
			java.util.Arrays.fill(block, (byte) 1);
			kept.add(block);
		}
	}
}
