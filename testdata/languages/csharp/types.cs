// What programs of judges use of the language: dynamic, decimal, records, patterns, spans, generators.
using System.Collections.Concurrent;
using System.Globalization;
using System.Numerics;
using System.Text;

static void Must(bool ok, string what) { if (!ok) throw new Exception(what); }
static IEnumerable<int> Squares() { for (int i = 1; ; i++) yield return i * i; }
static async Task<int> Twice(int n) { await Task.Delay(1); return 2 * n; }

dynamic d = 3; d = d + 0.5; Must(d == 3.5, "dynamic");
Must(0.1m + 0.2m == 0.3m && decimal.MaxValue.ToString(CultureInfo.InvariantCulture) == "79228162514264337593543950335", "decimal");
Must(Int128.Parse("170141183460469231731687303715884105727") == Int128.MaxValue, "Int128");
Must(new Point(1, 2) with { Y = 3 } is { X: 1, Y: > 2 }, "records and patterns");
Must(Squares().Skip(9).First() == 100 && Enumerable.Range(1, 10).Where(n => n % 2 == 0).Sum() == 30, "LINQ");
Span<int> span = stackalloc int[] { 3, 1, 2 }; span.Sort(); Must(span[0] == 1 && span[^1] == 3, "span");
Must((await Task.WhenAll(Twice(1), Twice(2))).Sum() == 6, "tasks");
var bag = new ConcurrentBag<int>(); Parallel.For(0, 100, bag.Add); Must(bag.Count == 100, "parallel");
var queue = new PriorityQueue<string, int>(); queue.Enqueue("b", 2); queue.Enqueue("a", 1); Must(queue.Dequeue() == "a", "priority queue");
Must(Vector<int>.Count >= 4 && BitOperations.PopCount(255u) == 8, "vectors");
Must(string.Format(new CultureInfo("de-DE"), "{0:N2}", 1234.5) == "1.234,50", "culture");
Must(DateTime.ParseExact("2026-03-29 02:30", "yyyy-MM-dd HH:mm", null).DayOfWeek == DayOfWeek.Sunday, "dates");
Must(Encoding.GetEncoding("iso-8859-1").GetBytes("é").Length == 1 && Encoding.UTF8.GetByteCount("😀") == 4, "encodings");
unchecked { Must(int.MaxValue + 1 == int.MinValue, "wraps"); }
try { checked { int m = int.MaxValue; m++; } Must(false, "checked"); } catch (OverflowException) { }
var big = new Thread(() => Must(Depth(1_000_000) == 1_000_000, "depth"), 256 << 20); big.Start(); big.Join();
Console.WriteLine("types ok");
static int Depth(int n) => n == 0 ? 0 : 1 + Depth(n - 1);
record Point(int X, int Y);
