Console.WriteLine("before");
throw new Exception("boom");
