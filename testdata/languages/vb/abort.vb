#Const DEBUG = True
Module Program
    Sub Main()
        System.Diagnostics.Debug.Assert(1 = 2, "over")
    End Sub
End Module
