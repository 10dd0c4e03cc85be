Module Program
    Sub Main()
        Console.WriteLine("hello, world")
    End Sub
End Module
