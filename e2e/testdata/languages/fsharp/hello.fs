printfn "hello, world"
