import core.thread;
import std.stdio;

void main()
{
    auto thread = new Thread({ writeln("from a thread"); });
    thread.start();
    thread.join();
}
