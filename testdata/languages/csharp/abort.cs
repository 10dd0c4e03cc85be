#define DEBUG
using System.Diagnostics;

Debug.Assert(1 == 2, "over");
