using System;

class Program {
    static void Main() {
        Console.WriteLine("7 " + Other.Text);
    }
}
