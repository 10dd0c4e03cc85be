Module Program
    Sub Main()
        Dim n As Integer = New Object().Missing(
    End Sub
End Module
