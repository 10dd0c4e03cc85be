Module Program
    Sub Main()
        System.Environment.FailFast("over")
    End Sub
End Module
