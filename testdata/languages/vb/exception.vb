Module Program
    Sub Main()
        Console.WriteLine("before")
        Throw New Exception("boom")
    End Sub
End Module
