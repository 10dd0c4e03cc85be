package grading

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// GRD-24: nothing that a program with a manager can see contains the manager, its files, the input or the expected
// output. It looks while the manager waits for it, and the manager, as the control, finds its own.
func TestHostileProgramsSeeNothingOfManagers(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	const look = `grep -rls MARK[E]R- /box /tmp /dev/shm /run /etc /var; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | grep -a MARK[E]R-; env | grep MARK[E]R-`
	for _, io := range []api.ProgramIO{api.StdIO, api.FIFOIO} {
		r := talks(`read a; { `+look+`; } >&2 </dev/null; ls /proc/self/fd >&2; echo 1; read a; exit 0`, io)
		r.Interactor = manager(`exec 3<"$1" 4>"$2"; echo go >&4; read g <&3; grep -q MARKER- input.txt && [ -e lib.h ] && grep -rl MARKER- /box | wc -l >&2; [ $# = 4 ] && echo 1`, 1, io)
		r.Interactor.Args = []string{"MARKER-argument"}
		r.Interactor.Files = []api.File{{Name: "lib.h", Content: []byte("MARKER-header")}}
		r.Tests = []api.Test{{ID: "1", Stdin: []byte("MARKER-input\n"), Expected: harness.Expected("MARKER-answer"),
			CheckArgs: []string{"MARKER-own"}}}
		one := a.MustRun(t, r).Tests[0]
		if one.Answer != api.Accepted || one.Message != "2" {
			t.Errorf("%s: %s %s, the manager finds %q", io, one.Result.Verdict, one.Answer, one.Message)
		}

		// ls has one descriptor of its own: for the directory.
		open := strings.Fields(string(one.Result.Stderr))
		want := "0 1 2 3"
		if io == api.FIFOIO {
			want = "0 1 2 3 64 65"
		}
		if strings.Join(open, " ") != want {
			t.Errorf("%s: the program sees %q; want the descriptors %s", io, one.Result.Stderr, want)
		}
	}
}

// GRD-25: the handles of pipes that a program has are those of its own channel. It can open them in the wrong
// direction, which deceives nobody: what it writes to the pipe that it reads does not reach the manager, and what the
// manager reads is what the program wrote. It cannot change whose they are, and a handle itself reads nothing.
func TestHostileHandlesOfPipes(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := harness.Sh(`exec 4>"$2" 5>"$1"; echo 1.0 >&5; echo 1.0 >&5; read b <"$1"; echo "own $b" >&2
		cat <&64 2>&1 | head -c 20 >&2; echo x >&65 || echo refused >&2; chmod 0 /proc/self/fd/64 2>/dev/null && echo changed >&2; ls /proc/self/fd/64/ >/dev/null 2>&1 && echo entered >&2
		echo 7 >&4; read a <"$1"; echo "then $a" >&2; exit 0`)
	r.Argv = append(r.Argv, "program")
	r.Interactor = manager(`exec 3<"$1" 4>"$2"; read g <&3; echo hello >&4; echo "$g" >&2; [ "$g" = 7 ] && echo 0.5 || echo 1`, 1, api.FIFOIO)
	r.Tests = []api.Test{{ID: "1"}}
	one := a.MustRun(t, r).Tests[0]
	said := string(one.Result.Stderr)
	if one.Answer != api.Partial || one.Message != "7" || !strings.Contains(said, "own 1.0") || !strings.Contains(said, "refused") ||
		strings.Contains(said, "changed") || strings.Contains(said, "entered") {
		t.Errorf("%s %s %q; the program: %q", one.Result.Verdict, one.Answer, one.Message, said)
	}
}

// GRD-25: a program of std_io cannot close its pipes to the manager by their mode before that opens them: it would
// turn its own failure into one of the manager's. It changes the mode of a file of its own, as the control.
func TestHostileOwnersOfPipes(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := talks(`: >own; for f in own /proc/self/fd/0 /proc/self/fd/1; do chmod 0 $f && echo "changed $f" >&2; done; echo 7; read a; exit 0`,
		api.StdIO)
	r.Interactor = manager(`sleep 0.3; exec 3<"$1" 4>"$2"; read g <&3; echo x >&4; echo "$g" >&2; [ "$g" = 7 ] && echo 0.5 || echo 1`, 1,
		api.StdIO)
	r.Tests = []api.Test{{ID: "1"}}
	one := a.MustRun(t, r).Tests[0]
	said := string(one.Result.Stderr)
	if one.Answer != api.Partial || one.Message != "7" || !strings.Contains(said, "changed own") || strings.Contains(said, "changed /proc") {
		t.Errorf("%s %s %q; the program: %q", one.Result.Verdict, one.Answer, one.Message, said)
	}
}

// GRD-26: the processes of a program cannot talk with each other but over the manager. Each looks for what the other
// one leaves, in every place that a process can write to and by every kind of address. A process that leaves it and
// looks itself, as the control, finds it.
func TestHostileProcessesCannotMeet(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	const program = `
import os, socket, sys
MARK = "/tmp/MARK", "/box/MARK", "/dev/shm/MARK"
ADDRESSES = (socket.AF_UNIX, "\0MARK"), (socket.AF_UNIX, "/tmp/MARK.sock"), (socket.AF_INET, ("127.0.0.1", 4711))
def leave():
    for name in MARK:
        open(name, "w").write("found")
    kept = []
    for kind, address in ADDRESSES: # tests have no sockets at all
        try: s = socket.socket(kind); s.bind(address); s.listen(); kept.append(s)
        except OSError: pass
    os.mkfifo("/tmp/MARK.fifo")
    return kept
def find():
    found = [name for name in MARK + ("/tmp/MARK.sock", "/tmp/MARK.fifo") if os.path.exists(name)]
    for kind, address in ADDRESSES:
        try: socket.socket(kind).connect(address); found.append("MARK %s" % (address,))
        except OSError: pass
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) != os.getpid(): found.append("process " + pid)
    for pid in range(1, 200):
        if pid == os.getpid(): continue
        try: os.kill(pid, 0); found.append("kill %d" % pid)
        except ProcessLookupError: pass
        except PermissionError: pass
    for n in os.listdir("/proc/self/fd"):
        try:
            if int(n) > 2 and "pipe" in os.readlink("/proc/self/fd/" + n): found.append("descriptor " + n)
        except FileNotFoundError: pass # that of the listing
    return found
me = sys.argv[1]
input()
if me == "0":
    kept = leave()
    print("left", flush=True)
    input() # the other one looks meanwhile
    print("still there", flush=True)
else:
    if me == "both": kept = leave()
    print(find(), flush=True)
`

	r := harness.Py(program)
	r.Limits.Memory = 128 * api.MiB

	// The second process looks while the first one lives, and has all of it in place.
	r.Interactor = manager(`exec 3<"$1" 4>"$2" 5<"$3" 6>"$4"; echo go >&4; read a <&3; echo go >&6; read b <&5; echo end >&4; read c <&3; echo "$a, $c: $b" >&2; echo 1`, 2, api.StdIO)
	r.Tests = []api.Test{{ID: "1"}}
	one := a.MustRun(t, r).Tests[0]
	if one.Message != "left, still there: []" || one.Answer != api.Accepted {
		t.Errorf("%s %s %q, stderr %s", one.Result.Verdict, one.Answer, one.Message, one.Result.Stderr)
	}

	control := harness.Py(program)
	control.Argv, control.Stdin = []string{"both"}, []byte("\n")
	if res := a.MustRun(t, control); strings.Count(string(res.Stdout), "MARK") < 4 {
		t.Errorf("a process does not find what it left itself: %s %s", res.Stdout, res.Stderr)
	}
}
