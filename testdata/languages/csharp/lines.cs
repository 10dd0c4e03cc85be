var output = new StreamWriter(Console.OpenStandardOutput());
string line;
while ((line = Console.ReadLine()) != null) output.WriteLine(int.Parse(line) + 1);
output.Flush();
