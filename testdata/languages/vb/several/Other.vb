Public Class Other
    Public Const Text As String = "from another file"
End Class
