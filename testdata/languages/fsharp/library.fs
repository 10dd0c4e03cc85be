open System
open System.IO
open System.Security.Cryptography
open System.Text.Json
open System.Text.RegularExpressions

printfn "json %d" (JsonSerializer.Deserialize<int[]> "[1,2]" |> Array.sum)
printfn "regex %s" (Regex.Match("the year 2026, I think", @"\d{4}").Value)
printfn "big %A" (pown 2I 100)
let noon = DateTime(2026, 1, 1, 12, 0, 0, DateTimeKind.Utc)
let tokyo = TimeZoneInfo.FindSystemTimeZoneById "Asia/Tokyo"
printfn "zone %s" (TimeZoneInfo.ConvertTimeFromUtc(noon, tokyo).ToString "HH:mm")
let bytes = RandomNumberGenerator.GetBytes 16
printfn "random %s" (if Random.Shared.NextDouble() < 1.0 && Array.exists ((<>) 0uy) bytes then "ok" else "bad")
let name = Path.GetTempFileName()
File.WriteAllText(name, "ok")
printfn "temp %s" (File.ReadAllText name)
File.Delete name
