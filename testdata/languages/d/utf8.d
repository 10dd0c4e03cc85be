import std.range : walkLength;
import std.stdio;
import std.string : chomp;

void main()
{
    writeln("grün 日本 😀");
    auto line = readln().chomp;
    assert(line.walkLength == 13);
    writeln(line);
}
