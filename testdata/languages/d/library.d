import std.bigint;
import std.datetime;
import std.json;
import std.random;
import std.regex;
import std.stdio;

void main()
{
    writeln("json ", parseJSON("[1, 2]").array[0].integer + 2);
    writeln("regex ", matchFirst("the year 2026 in a text", regex(`\d{4}`)).hit);
    writeln("big ", BigInt(2) ^^ 100);
    auto noon = SysTime(DateTime(2026, 1, 1, 12), UTC());
    auto tokyo = noon.toOtherTZ(PosixTimeZone.getTimeZone("Asia/Tokyo"));
    writefln("zone %02d:%02d", tokyo.hour, tokyo.minute);
    auto dice = Random(unpredictableSeed);
    auto n = uniform(0, 6, dice);
    writeln("random ", n >= 0 && n < 6 ? "ok" : "bad");
    auto f = File.tmpfile();
    f.write("temp ok");
    f.rewind();
    writeln(f.readln());
}
