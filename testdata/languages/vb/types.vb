Imports System.Globalization

Structure Point
    Public X, Y As Integer
End Structure

Module Program
    Sub Must(ok As Boolean, what As String)
        If Not ok Then Throw New Exception(what)
    End Sub

    Iterator Function Squares() As IEnumerable(Of Integer)
        For i = 1 To 100
            Yield i * i
        Next
    End Function

    Async Function Twice(n As Integer) As Task(Of Integer)
        Await Task.Delay(1)
        Return 2 * n
    End Function

    Sub Main()
        Must(0.1D + 0.2D = 0.3D, "decimal")
        Must(Squares().Skip(9).First() = 100, "iterator")
        Must((From n In Enumerable.Range(1, 10) Where n Mod 2 = 0).Sum() = 30, "query")
        Must(Twice(21).Result = 42, "async")
        Must(Mid("hello", 2, 3) = "ell" AndAlso UCase("a") = "A" AndAlso Asc("A") = 65, "functions of Basic")
        Must("hello" Like "h*o" AndAlso 7 \ 2 = 3 AndAlso 2 ^ 10 = 1024, "operators")
        Must(CInt("42") = 42 AndAlso IsNumeric("1.5") AndAlso Not IsNumeric("x"), "conversions")
        Must(Format(1234.5, "0.00") = "1234.50", "format")
        Must((1234.5).ToString("N2", New CultureInfo("de-DE")) = "1.234,50", "culture")
        Dim document = <a><b>1</b><b>2</b></a>
        Must(document.<b>.Count() = 2, "literals of XML")
        Dim p As New Point With {.X = 1, .Y = 2}
        Must(p.X + p.Y = 3, "structure")
        Dim late As Object = "text"
        Must(CStr(late).Length = 4 AndAlso late.Length = 4, "late binding")
        Try
            Dim n As Integer = Integer.MaxValue
            n += 1
            Must(False, "overflow")
        Catch e As OverflowException
        End Try
        Console.WriteLine("types ok")
    End Sub
End Module
