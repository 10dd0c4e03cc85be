using System;
using System.Diagnostics;

class Program {
    static void Main() {
        var start = new ProcessStartInfo("echo", "from a child") { RedirectStandardOutput = true, UseShellExecute = false };
        using (var child = Process.Start(start)) {
            Console.Write(child.StandardOutput.ReadToEnd());
            child.WaitForExit();
        }
    }
}
