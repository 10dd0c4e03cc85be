Module Program
    Function F(n As Integer) As Integer
        Return If(n = 0, 0, 1 + F(n - 1))
    End Function

    Sub Main()
        Console.WriteLine(F(100000))
    End Sub
End Module
