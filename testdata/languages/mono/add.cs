using System;
using System.Linq;

class Program {
    static void Main() {
        Console.WriteLine(Console.In.ReadToEnd().Split((char[])null, StringSplitOptions.RemoveEmptyEntries).Sum(long.Parse));
    }
}
