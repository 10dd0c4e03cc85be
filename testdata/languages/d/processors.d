import std.parallelism;
import std.stdio;

void main() { writeln("processors ", totalCPUs); }
