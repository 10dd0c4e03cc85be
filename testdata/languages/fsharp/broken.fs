let add a b = a + b
printfn "before"
printfn "%d" (add 1 "two")
