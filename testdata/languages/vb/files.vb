Module Program
    Sub Must(ok As Boolean, what As String)
        If Not ok Then Throw New Exception(what)
    End Sub

    Sub Main()
        File.WriteAllText("a.txt", "hello")
        File.AppendAllText("a.txt", ", world")
        File.Move("a.txt", "b.txt")
        Directory.CreateDirectory("d/e")
        File.Copy("b.txt", "d/b.txt")
        Must(Directory.GetFileSystemEntries("d").Length = 2, "list")
        FileOpen(1, "b.txt", OpenMode.Input)
        Must(LineInput(1) = "hello, world", "the file functions of Basic")
        FileClose(1)
        Directory.Move("d", "moved")
        Directory.Delete("moved", True)
        File.Delete("b.txt")
        Must(Not Directory.Exists("moved") AndAlso Not File.Exists("b.txt"), "delete")
        Console.WriteLine("files ok")
    End Sub
End Module
