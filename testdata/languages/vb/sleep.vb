Module Program
    Sub Main()
        System.Threading.Thread.Sleep(60000)
    End Sub
End Module
