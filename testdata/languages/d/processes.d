import core.stdc.signal : SIGTERM;
import core.sync.mutex;
import core.thread;
import std.concurrency;
import std.parallelism;
import std.process;
import std.socket;
import std.stdio;

void main()
{
    assert(wait(spawnShell("exit 3")) == 3);
    auto cat = pipeProcess("cat", Redirect.stdin | Redirect.stdout);
    cat.stdin.write("through");
    cat.stdin.close();
    assert(cat.stdout.readln() == "through" && wait(cat.pid) == 0);
    auto sleeper = spawnProcess(["sleep", "9"]);
    assert(!tryWait(sleeper).terminated);
    kill(sleeper);
    assert(wait(sleeper) == -SIGTERM && thisProcessID > 0 && environment.get("HOME") !is null);
    auto numbers = [1, 2, 3, 4];
    foreach (ref n; parallel(numbers)) n *= 2;
    assert(numbers == [2, 4, 6, 8]);
    auto job = task!((int n) => n + 1)(6);
    job.executeInNewThread();
    assert(job.yieldForce == 7);
    auto worker = spawn((Tid owner) { send(owner, receiveOnly!int() * 2); }, thisTid);
    send(worker, 4);
    assert(receiveOnly!int() == 8);
    auto pair = socketPair();
    pair[0].send("x");
    ubyte[4] got;
    assert(pair[1].receive(got) == 1);
    Thread.sleep(1.msecs);
    writeln("processes ok");
}
