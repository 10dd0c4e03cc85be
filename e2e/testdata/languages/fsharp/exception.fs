printfn "before"
failwith "boom"
