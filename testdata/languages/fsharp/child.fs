open System.Diagnostics

let start = ProcessStartInfo("echo", "from a child", RedirectStandardOutput = true)
use child = Process.Start start
stdout.Write(child.StandardOutput.ReadToEnd())
child.WaitForExit()
