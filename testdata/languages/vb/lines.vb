Module Program
    Sub Main()
        Dim output As New StreamWriter(Console.OpenStandardOutput())
        Dim line = Console.ReadLine()
        While line IsNot Nothing
            output.WriteLine(CInt(line) + 1)
            line = Console.ReadLine()
        End While
        output.Flush()
    End Sub
End Module
