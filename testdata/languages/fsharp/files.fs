open System.IO

File.WriteAllText("a.txt", "hello")
File.AppendAllText("a.txt", ", world")
File.Move("a.txt", "b.txt")
Directory.CreateDirectory "d/e" |> ignore
File.Copy("b.txt", "d/b.txt")
if Directory.GetFileSystemEntries("d").Length <> 2 then failwith "list"
File.CreateSymbolicLink("d/link", "b.txt") |> ignore
if File.ReadAllText "d/link" <> "hello, world" then failwith "link"
Directory.Move("d", "moved")
Directory.Delete("moved", true)
File.Delete "b.txt"
if Directory.Exists "moved" || File.Exists "b.txt" then failwith "delete"
printfn "files ok"
