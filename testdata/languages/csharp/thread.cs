using System;
using System.Threading;

class Program {
    static void Main() {
        var thread = new Thread(() => Console.WriteLine("from a thread"));
        thread.Start();
        thread.Join();
    }
}
