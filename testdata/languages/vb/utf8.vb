Module Program
    Sub Main()
        Console.WriteLine("grün 日本 😀")
        Console.WriteLine(Console.ReadLine())
    End Sub
End Module
