Module Program
    Sub Main()
        System.Console.WriteLine("processors " & System.Environment.ProcessorCount)
    End Sub
End Module
