printfn "grün 日本 😀"
printfn "%s" (stdin.ReadLine())
