printfn "7 %s" Other.text
