Console.WriteLine($"processors {Environment.ProcessorCount}");
