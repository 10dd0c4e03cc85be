Module Program
    Sub Main()
        Dim start As New ProcessStartInfo("echo", "from a child") With {.RedirectStandardOutput = True}
        Using child = Process.Start(start)
            Console.Write(child.StandardOutput.ReadToEnd())
            child.WaitForExit()
        End Using
    End Sub
End Module
