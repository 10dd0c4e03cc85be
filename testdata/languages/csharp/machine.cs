#pragma warning disable CS8321
using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Reflection;
using System.Runtime.InteropServices;

static void Must(bool ok, string what) { if (!ok) throw new Exception(what); }

Must(Environment.ProcessorCount == 1, "processors: " + Environment.ProcessorCount);
Must(Environment.Version.Major >= 8 && RuntimeInformation.FrameworkDescription.StartsWith(".NET "), "version");
Must(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes <= 512L << 20, "memory: " + GC.GetGCMemoryInfo().TotalAvailableMemoryBytes);
Must(Environment.CurrentDirectory == "/box" && Environment.GetCommandLineArgs().Length == 1, "arguments");
Must(AppContext.TargetFrameworkName!.StartsWith(".NETCoreApp,Version=v"), "framework");
Must(new CultureInfo("de-DE").NumberFormat.NumberDecimalSeparator == ",", "culture");
Must("STRASSE".Equals("strasse", StringComparison.InvariantCultureIgnoreCase), "compare");
Must(1.5.ToString() == "1.5", "the culture of a run is invariant");
Must(Stopwatch.IsHighResolution && Process.GetCurrentProcess().Threads.Count > 0, "process");
#if NET && NET8_0_OR_GREATER && RELEASE && !DEBUG
Must(Assembly.GetExecutingAssembly().GetName().Name == "main", "assembly");
#else
throw new Exception("names that a project defines");
#endif
unsafe {
    int[] a = { 1, 2, 3 };
    fixed (int* p = a) Must(p[2] == 3, "unsafe");
}
try { new TcpClient("127.0.0.1", 80); Must(false, "network"); } catch (SocketException) { }
Console.WriteLine("machine ok");
