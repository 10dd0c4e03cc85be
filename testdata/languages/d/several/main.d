import seven;
import std.stdio;

void main() { writeln(seven.count(), " ", text); }
