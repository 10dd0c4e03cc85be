let output = new System.IO.StreamWriter(System.Console.OpenStandardOutput())
let rec copy () =
    match stdin.ReadLine() with
    | null -> ()
    | line -> output.WriteLine(int line + 1); copy ()
copy ()
output.Flush()
