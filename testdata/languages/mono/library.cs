using System;
using System.IO;
using System.Linq;
using System.Numerics;
using System.Security.Cryptography;
using System.Text.RegularExpressions;
using System.Web.Script.Serialization;

class Program {
    static void Main() {
        Console.WriteLine("json " + new JavaScriptSerializer().Deserialize<int[]>("[1,2]").Sum());
        Console.WriteLine("regex " + Regex.Match("the year 2026, I think", @"\d{4}").Value);
        Console.WriteLine("big " + BigInteger.Pow(2, 100));
        var noon = new DateTime(2026, 1, 1, 12, 0, 0, DateTimeKind.Utc);
        var tokyo = TimeZoneInfo.FindSystemTimeZoneById("Asia/Tokyo");
        Console.WriteLine("zone " + TimeZoneInfo.ConvertTimeFromUtc(noon, tokyo).ToString("HH:mm"));
        var bytes = new byte[16];
        RandomNumberGenerator.Create().GetBytes(bytes);
        Console.WriteLine("random " + (new Random().NextDouble() < 1 && bytes.Any(b => b != 0) ? "ok" : "bad"));
        var name = Path.GetTempFileName();
        File.WriteAllText(name, "ok");
        Console.WriteLine("temp " + File.ReadAllText(name));
        File.Delete(name);
    }
}
