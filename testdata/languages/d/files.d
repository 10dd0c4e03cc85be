import core.sys.posix.unistd : link;
import std.algorithm;
import std.array;
import std.datetime;
import std.file;
import std.mmfile;
import std.path;
import std.stdio : File, writeln;

void main()
{
    write("a.txt", "hello");
    append("a.txt", ", world");
    rename("a.txt", "b.txt");
    mkdirRecurse("d/e");
    copy("b.txt", "d/b.txt");
    symlink("b.txt", "d/soft");
    assert(link("b.txt", "d/hard") == 0);
    assert(readText("d/soft") == "hello, world" && readLink("d/soft") == "b.txt");
    setAttributes("b.txt", 0x1a0);
    auto when = SysTime(DateTime(2026, 1, 1), UTC());
    setTimes("b.txt", when, when);
    assert(timeLastModified("b.txt") == when && getSize("b.txt") == 12 && (getAttributes("b.txt") & 0x1ff) == 0x1a0);
    auto names = dirEntries("d", SpanMode.breadth).map!(e => e.name.baseName).array.sort;
    assert(names.equal(["b.txt", "e", "hard", "soft"]));
    chdir("d");
    assert(getcwd() == "/box/d" && exists("soft") && !exists("none"));
    chdir("..");
    auto f = File("b.txt", "r+");
    f.lock();
    f.seek(7);
    assert(f.readln() == "world");
    f.sync();
    f.unlock();
    f.close();
    {
        scope map = new MmFile("table", MmFile.Mode.readWriteNew, 8192, null);
        map[4096] = 7;
        map.flush();
    }
    assert((cast(ubyte[]) read("table"))[4096] == 7 && getAvailableDiskSpace(".") > 0);
    rmdirRecurse("d");
    remove("b.txt");
    remove("table");
    assert(!exists("d"));
    writeln("files ok");
}
