Imports System.Threading

Module Program
    Sub Main()
        Dim thread As New Thread(Sub() Console.WriteLine("from a thread"))
        thread.Start()
        thread.Join()
    End Sub
End Module
