using System.Threading;

class Program {
    static void Main() {
        Thread.Sleep(60000);
    }
}
