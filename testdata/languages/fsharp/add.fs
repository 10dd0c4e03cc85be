let numbers = stdin.ReadLine().Split ' ' |> Array.map int
printfn "%d" (Array.sum numbers)
