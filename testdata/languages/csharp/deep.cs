int F(int n) => n == 0 ? 0 : 1 + F(n - 1);
Console.WriteLine(F(100000));
