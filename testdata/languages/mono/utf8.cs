using System;

class Program {
    static void Main() {
        Console.WriteLine("grün 日本 😀");
        var line = Console.ReadLine();
        if (line.Length != 13) throw new Exception("read " + line.Length);
        Console.WriteLine(line);
    }
}
