Imports System.Numerics
Imports System.Security.Cryptography
Imports System.Text.Json
Imports System.Text.RegularExpressions

Module Program
    Sub Main()
        Console.WriteLine("json " & JsonSerializer.Deserialize(Of Integer())("[1,2]").Sum())
        Console.WriteLine("regex " & Regex.Match("the year 2026, I think", "\d{4}").Value)
        Console.WriteLine("big " & BigInteger.Pow(2, 100).ToString())
        Dim noon As New DateTime(2026, 1, 1, 12, 0, 0, DateTimeKind.Utc)
        Dim tokyo = TimeZoneInfo.FindSystemTimeZoneById("Asia/Tokyo")
        Console.WriteLine("zone " & TimeZoneInfo.ConvertTimeFromUtc(noon, tokyo).ToString("HH:mm"))
        Randomize()
        Dim bytes = RandomNumberGenerator.GetBytes(16)
        Console.WriteLine("random " & If(Rnd() < 1 AndAlso bytes.Any(Function(b) b <> 0), "ok", "bad"))
        Dim name = Path.GetTempFileName()
        File.WriteAllText(name, "ok")
        Console.WriteLine("temp " & File.ReadAllText(name))
        File.Delete(name)
    End Sub
End Module
