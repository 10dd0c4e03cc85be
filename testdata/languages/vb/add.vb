Module Program
    Sub Main()
        Dim numbers = Console.ReadLine().Split(" "c).Select(Function(s) Integer.Parse(s))
        Console.WriteLine(numbers.Sum())
    End Sub
End Module
