package templates

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// pythonWorld prints what a Python program sees, one fact per line: ids by name, what it may write,
// which other processes there are. It leaves out what the shell's posture shows better.
const pythonWorld = `
import grp, os, pwd, resource, signal, socket, stat, subprocess, sys, tempfile
status = dict(l.rstrip("\n").split(":\t", 1) for l in open("/proc/self/status") if ":\t" in l)
print("# ids"); print(subprocess.run(["id"], capture_output=True, text=True).stdout.strip())
print(os.getresuid(), os.getresgid(), os.getgroups(), pwd.getpwuid(os.getuid())[:6], grp.getgrgid(os.getgid())[:3])
for k in "Uid Gid Groups CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp SigBlk Umask".split(): print(k, status[k])
print("# signals that are not as at exec, next to Python's own"); print([s.name for s in signal.Signals if signal.getsignal(s) == signal.SIG_IGN and s.name not in ("SIGPIPE", "SIGXFSZ")])
print("# environment"); print(*sorted(f"{k}={v}" for k, v in os.environ.items()), sep="\n")
print("# program"); print(sys.argv, sys.executable, sys.version_info[:2], os.getcwd(), sorted(os.listdir()), sys.flags.dont_write_bytecode, sys.stdout.encoding, sys.getfilesystemencoding())
print("# descriptors"); print([n for n in map(int, os.listdir("/proc/self/fd")) if n < 256 and n not in (3,)][:9], [stat.S_ISFIFO(os.fstat(n).st_mode) for n in range(3)], os.isatty(0))
print("# processes"); print(os.getpid(), os.getppid(), os.getsid(0), sorted(p for p in os.listdir("/proc") if p.isdigit()))
print("# limits"); print({n: resource.getrlimit(getattr(resource, n)) for n in ("RLIMIT_CORE", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_STACK", "RLIMIT_AS", "RLIMIT_MEMLOCK")})
print("# mounts"); print(*sorted({(l.split()[4], l.split()[5]) for l in open("/proc/self/mountinfo")}), sep="\n")
print("# directories of the root"); print(sorted(os.listdir("/")))
print("# dev"); print(sorted(os.listdir("/dev")))
print("# writable")
for d in ("/", "/box", "/sandbox", "/tmp", "/dev", "/dev/shm", "/etc", "/usr", "/usr/lib/python3", "/var/tmp", "/var", "/run", "/root", "/home", "/opt", "/srv", "/proc", "/lib"):
    try:
        with tempfile.TemporaryFile(dir=d): print(d, "yes")
    except OSError as e: print(d, e.strerror)
print("# temporary files go to", tempfile.gettempdir())
print("# network")
def attempt(f):
    try: f(); return "done"
    except OSError as e: return e.strerror
for family in ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET"):
    print(family, attempt(lambda: socket.socket(getattr(socket, family), socket.SOCK_STREAM if family != "AF_PACKET" else socket.SOCK_RAW).close()))
print("connect", attempt(lambda: socket.create_connection(("127.0.0.1", 80), 1)), "/", attempt(lambda: socket.create_connection(("192.0.2.1", 80), 1)))
print("resolve", attempt(lambda: socket.getaddrinfo("example.org", 80)))
`

// A Python program sees the environment that the documentation describes, in a new cell, in one
// that has served many runs, and in its own cell.
func TestPythonEnvironment(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	look := func(mode api.Mode) string {
		r := harness.Py(pythonWorld)
		r.Mode, r.Collect.None = mode, true
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if len(res.Stderr) > 0 {
			t.Errorf("stderr: %s", res.Stderr)
		}
		return string(res.Stdout)
	}

	golden := filepath.Join("..", "..", "..", "testdata", "world-python.golden")
	first := look(api.Strict)
	if *harness.Update {
		if err := os.WriteFile(golden, []byte(first), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}

	same := func(what, got string) {
		t.Helper()
		if got != string(want) {
			t.Errorf("%s differs from %s (go test ./internal/e2e/templates -run TestPythonEnvironment -update):\n%s", what, golden,
				harness.LineDiff(string(want), got))
		}
	}

	same("the first run of a cell", first)
	for range 48 {
		harness.WantVerdict(t, a.MustRun(t, harness.Py("open('/tmp/x', 'w').write('x')")), api.OK)
	}

	same("the fiftieth run of the cell", look(api.Strict))
	same("a run in a fresh cell", look(api.Fresh))
}
