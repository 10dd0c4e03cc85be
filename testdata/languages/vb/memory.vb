Module Program
    Sub Main()
        Dim kept As New List(Of Byte())
        Do
            Dim bytes(999999) As Byte
            For i = 0 To bytes.Length - 1 Step 4096
                bytes(i) = 1
            Next
            kept.Add(bytes)
        Loop
    End Sub
End Module
