open System.Diagnostics
open System.Threading

let start (name: string) (args: string) =
    Process.Start(ProcessStartInfo(name, args, RedirectStandardInput = true, RedirectStandardOutput = true))
let must what ok = if not ok then failwith what

using (start "sh" "-c \"exit 3\"") (fun p -> p.WaitForExit(); must "exit" (p.ExitCode = 3))
using (start "cat" "") (fun p ->
    p.StandardInput.Write "through"
    p.StandardInput.Close()
    must "pipe" (p.StandardOutput.ReadToEnd() = "through"))
using (start "sleep" "9") (fun p -> p.Kill(); p.WaitForExit(); must "kill" p.HasExited)
must "task" ((task { return 7 }).Result = 7)
must "async" (Async.Parallel [ for i in 1..4 -> async { return i } ] |> Async.RunSynchronously |> Array.sum = 10)
let mailbox = MailboxProcessor.Start(fun inbox -> async {
    let! (n: int, reply: AsyncReplyChannel<int>) = inbox.Receive()
    reply.Reply(n + 1) })
must "mailbox" (mailbox.PostAndReply(fun channel -> 41, channel) = 42)
printfn "processes ok"
