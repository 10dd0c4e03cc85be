import std.stdio;

int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }

void main() { writeln(deep(100_000)); }
