Imports System.Threading

Module Program
    Sub Must(ok As Boolean, what As String)
        If Not ok Then Throw New Exception(what)
    End Sub

    Function Start(name As String, args As String) As Process
        Return Process.Start(New ProcessStartInfo(name, args) With {.RedirectStandardInput = True, .RedirectStandardOutput = True})
    End Function

    Sub Main()
        Using p = Start("sh", "-c ""exit 3""")
            p.WaitForExit()
            Must(p.ExitCode = 3, "exit")
        End Using
        Using p = Start("cat", "")
            p.StandardInput.Write("through")
            p.StandardInput.Close()
            Must(p.StandardOutput.ReadToEnd() = "through", "pipe")
        End Using
        Using p = Start("sleep", "9")
            p.Kill()
            p.WaitForExit()
            Must(p.HasExited, "kill")
        End Using
        Must(Task.Run(Function() 7).Result = 7, "task")
        Dim total = 0
        Parallel.For(1, 101, Sub(i) Interlocked.Add(total, i))
        Must(total = 5050, "parallel")
        Console.WriteLine("processes ok")
    End Sub
End Module
