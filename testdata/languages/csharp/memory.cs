using System.Collections.Generic;

class Program {
    static void Main() {
        var kept = new List<byte[]>();
        for (;;) {
            var bytes = new byte[1000000];
            for (int i = 0; i < bytes.Length; i += 4096) bytes[i] = 1;
            kept.Add(bytes);
        }
    }
}
