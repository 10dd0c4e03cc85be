open System.Collections.Generic

type Shape = Circle of float | Square of float
type Point = { X: int; Y: int }
[<Measure>] type metre

let must what ok = if not ok then failwith what
let area = function Circle r -> System.Math.PI * r * r | Square a -> a * a
let (|Even|Odd|) n = if n % 2 = 0 then Even else Odd

must "unions" (area (Square 3.0) = 9.0)
must "records" ({ X = 1; Y = 2 } = { { X = 1; Y = 0 } with Y = 2 })
must "active patterns" (match 7 with Odd -> true | Even -> false)
must "sequences" (Seq.initInfinite (fun i -> i * i) |> Seq.skip 9 |> Seq.head = 81)
must "maps" (Map.ofList [ "a", 1; "b", 2 ] |> Map.find "b" = 2)
must "computation" (query { for n in [ 1..10 ] do where (n % 2 = 0); sumBy n } = 30)
must "decimal" (0.1m + 0.2m = 0.3m)
must "measures" (2.0<metre> * 3.0<metre> = 6.0<metre^2>)
must "dictionary" (let d = Dictionary<string, int>() in d.["x"] <- 1; d.ContainsKey "x")
must "format" (sprintf "%05d|%.2f|%A" 42 3.14159 [ 1; 2 ] = "00042|3.14|[1; 2]")
must "lazy" ((lazy (1 + 1)).Force() = 2)
must "option" ([ Some 1; None; Some 3 ] |> List.choose id |> List.sum = 4)
printfn "types ok"
