let rec f n = if n = 0 then 0 else 1 + f (n - 1)
printfn "%d" (f 100000)
