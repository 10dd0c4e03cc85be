Module Program
    Sub Main()
        Console.WriteLine("7 " & Other.Text)
    End Sub
End Module
