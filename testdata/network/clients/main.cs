using System;
using System.IO;
using System.Net;

class Program {
    static void Main(string[] args) {
        using (var answer = WebRequest.Create(args[0]).GetResponse())
        using (var text = new StreamReader(answer.GetResponseStream()))
            Console.Write(text.ReadToEnd());
    }
}
