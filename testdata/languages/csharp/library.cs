using System.Numerics;
using System.Security.Cryptography;
using System.Text.Json;
using System.Text.RegularExpressions;

Console.WriteLine("json " + JsonSerializer.Deserialize<int[]>("[1,2]")!.Sum());
Console.WriteLine("regex " + Regex.Match("the year 2026, I think", @"\d{4}").Value);
Console.WriteLine("big " + BigInteger.Pow(2, 100));
var noon = new DateTime(2026, 1, 1, 12, 0, 0, DateTimeKind.Utc);
var tokyo = TimeZoneInfo.FindSystemTimeZoneById("Asia/Tokyo");
Console.WriteLine("zone " + TimeZoneInfo.ConvertTimeFromUtc(noon, tokyo).ToString("HH:mm"));
var bytes = RandomNumberGenerator.GetBytes(16);
Console.WriteLine("random " + (Random.Shared.NextDouble() < 1 && bytes.Any(b => b != 0) ? "ok" : "bad"));
var name = Path.GetTempFileName();
File.WriteAllText(name, "ok");
Console.WriteLine("temp " + File.ReadAllText(name));
File.Delete(name);
