import std.process;
import std.stdio;

void main()
{
    auto child = execute(["echo", "from a child"]);
    assert(child.status == 0);
    write(child.output);
}
