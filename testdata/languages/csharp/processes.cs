using System;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

class Program {
    static void Must(bool ok, string what) { if (!ok) throw new Exception(what); }

    static Process Start(string name, string args) {
        return Process.Start(new ProcessStartInfo(name, args) { UseShellExecute = false, RedirectStandardInput = true, RedirectStandardOutput = true });
    }

    static void Main() {
        using (var p = Start("sh", "-c \"exit 3\"")) { p.WaitForExit(); Must(p.ExitCode == 3, "exit"); }
        using (var p = Start("cat", "")) {
            p.StandardInput.Write("through");
            p.StandardInput.Close();
            Must(p.StandardOutput.ReadToEnd() == "through", "pipe");
        }
        using (var p = Start("sleep", "9")) { p.Kill(); p.WaitForExit(); Must(p.HasExited, "kill"); }
        Must(Task.Run(() => 7).Result == 7, "task");
        var done = new ManualResetEvent(false);
        using (new Timer(_ => done.Set(), null, 10, Timeout.Infinite)) Must(done.WaitOne(5000), "timer");
        Must(Process.GetCurrentProcess().Id > 0 && Environment.ProcessorCount >= 1, "self");
        Console.WriteLine("processes ok");
    }
}
