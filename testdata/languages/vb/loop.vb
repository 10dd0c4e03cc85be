Module Program
    Sub Main()
        Dim n As Long = 0
        While True
            n = (n + 1) And 1023
        End While
    End Sub
End Module
