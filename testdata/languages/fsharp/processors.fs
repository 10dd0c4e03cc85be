printfn "processors %d" System.Environment.ProcessorCount
