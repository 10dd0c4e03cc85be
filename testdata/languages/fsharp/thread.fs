let thread = System.Threading.Thread(fun () -> printfn "from a thread")
thread.Start()
thread.Join()
