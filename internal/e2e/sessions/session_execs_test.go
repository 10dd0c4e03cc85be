package sessions

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Source is executed in the session's language, next to the session's files.
func TestSessionExecutesSource(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)
	s := a.NewSession(t, func(s *api.SessionRequest) {
		*s = api.SessionRequest{Language: "python", Limits: api.Limits{Memory: 128 * api.MiB}}
	})
	first := a.MustExec(t, s.ID,
		api.Exec{Source: []byte("import sys; open('state', 'w').write(sys.argv[1]); print(__file__)"), Argv: []string{"kept"}})
	second := a.MustExec(t, s.ID, api.Exec{Source: []byte("import helper; print(helper.read())"), SourceName: "two.py"})
	harness.WantVerdict(t, first, api.OK)
	if second.Verdict != api.Nonzero || !strings.Contains(string(second.Stderr), "helper") {
		t.Errorf("without the module: %s, %q", second.Verdict, second.Stderr)
	}

	a.Put(t, s.ID, "helper.py", "def read(): return open('state').read()\n")
	second = a.MustExec(t, s.ID, api.Exec{Source: []byte("import helper; print(helper.read())"), SourceName: "two.py"})
	if second.Verdict != api.OK || string(second.Stdout) != "kept\n" {
		t.Errorf("with it: %s, %q, %q", second.Verdict, second.Stdout, second.Stderr)
	}

	a.WantOutput(t, s.ID, "python3 -c 'print(2+2)'; ls two.py", "4\ntwo.py\n")
}

// An exec that reaches the session's own memory limit, which others have used up, gets that
// verdict, and what the others hold is kept.
func TestSessionOutOfMemoryLosesTheExec(t *testing.T) {
	a := harness.StartAgent(t)
	hold := harness.CompileC(t, "hold", `#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	size_t n = atol(argv[1]) << 20; char *p = malloc(n); memset(p, 1, n);
	if (argc > 2) { close(open(argv[2], O_CREAT | O_WRONLY, 0644)); for (;;) pause(); }
	return 0; }`)

	s := a.NewSession(t, nil) // of 64 MiB
	if err := a.PutFile(t.Context(), s.ID, "hold", bytes.NewReader(hold.Content), true); err != nil {
		t.Fatal(err)
	}

	a.WantOutput(t, s.ID, "./hold 24 ready >/dev/null 2>&1 & until test -e ready; do sleep 0.05; done", "")
	startBackground(t, a, s.ID)
	for range 3 {
		res := a.MustExec(t, s.ID, api.Exec{Argv: []string{"./hold", "60"}})
		harness.WantVerdict(t, res, api.MemoryLimit)
		if len(res.LimitsHit) != 1 || res.LimitsHit[0] != "memory" {
			t.Errorf("limits hit: %q; want memory", res.LimitsHit)
		}
	}

	harness.WantVerdict(t, a.MustExec(t, s.ID, api.Exec{Argv: []string{"./hold", "24"}}), api.OK)
	if left := harness.ProcessesNamed(t, "./hold"); len(left) != 1 {
		t.Errorf("%d holders live; want the one in the background", len(left))
	}

	wantBackgroundAlive(t, a, s.ID)

	// Files count as well, and remain when the process that wrote them has ended and its memory is
	// free.
	a.WantOutput(t, s.ID, "head -c 14000000 /dev/zero > /tmp/file && wc -c < /tmp/file", "14000000\n")
	harness.WantVerdict(t, a.MustExec(t, s.ID, api.Exec{Argv: []string{"./hold", "30"}}), api.MemoryLimit)
	a.WantOutput(t, s.ID, "rm /tmp/file; ./hold 24; echo room", "room\n")
}

// Execs of a session run concurrently as far as slots are free, wait when none is, and are refused
// if there are too many. A session that does nothing holds no slot.
func TestSessionExecsRunConcurrently(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	s := a.NewSession(t, nil)
	meet := func(mine, other string) api.Exec {
		return harness.ShellExec("echo > " + mine + "; until test -e " + other + "; do sleep 0.05; done; echo met")
	}
	var wg sync.WaitGroup
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		wg.Go(func() {
			if res, err := a.Exec(t.Context(), s.ID, meet(names[0], names[1])); err != nil || string(res.Stdout) != "met\n" {
				t.Errorf("%v, %q", err, res.Stdout)
			}
		})
	}

	wg.Wait()

	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan api.Result, 8)
	for range 8 {
		wg.Go(func() {
			if res, err := a.Exec(ctx, s.ID, harness.ShellExec("until test -e go; do sleep 0.05; done")); err == nil {
				results <- res
			}
		})
	}

	for deadline := harness.Patience(); ; time.Sleep(20 * time.Millisecond) {
		now, err := a.Session(t.Context(), s.ID)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", now, err)
		}
		if now.Running == 8 {
			break
		}
	}

	_, err := a.Client.Exec(t.Context(), s.ID, harness.ShellExec("echo one too many"))
	harness.WantCode(t, err, api.CodeSessionBusy)
	_, err = a.Run(t.Context(), harness.Sh("true"))
	harness.WantCode(t, err, api.CodeBusy)
	a.Put(t, s.ID, "go", "")
	wg.Wait()
	cancel()
	queued := 0
	for range 8 {
		if res := <-results; res.Timing.Queued > int64(time.Millisecond) {
			queued++
		}
	}

	if queued < 6 {
		t.Errorf("%d of 8 execs waited for one of two slots", queued)
	}

	a.WaitIdle(t)

	// A caller that hangs up ends its exec and what that started, and not the session.
	startBackground(t, a, s.ID)
	ctx, cancel = context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := a.Exec(ctx, s.ID, harness.ShellExec("sleep 8770 >/dev/null 2>&1 & sleep 8771"))
		left <- err
	}()
	harness.FindProcess(t, "sleep\x008770")
	harness.FindProcess(t, "sleep\x008771")
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left gets %v", err)
	}

	a.WaitIdle(t)
	if n := len(harness.ProcessesNamed(t, "sleep\x008770")) + len(harness.ProcessesNamed(t, "sleep\x008771")); n != 0 {
		t.Errorf("%d processes outlive their caller", n)
	}

	wantBackgroundAlive(t, a, s.ID)
}

// Processes of a session that repeatedly signal all others kill execs and nothing else: each exec
// has a verdict, none is an error of brig's, and the session's own shells are out of reach.
func TestHostileSignalsInASession(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	storm := harness.CompileC(t, "storm", `#include <signal.h>
#include <stdlib.h>
int main(int argc, char **argv) { for (;;) kill(-1, atoi(argv[1])); }`)
	for signal, wants := range map[string][]api.Verdict{
		"9":  {api.Signaled, api.OK},
		"19": {api.WallLimit, api.OK},
	} {
		s := a.NewSession(t, nil)
		if err := a.PutFile(t.Context(), s.ID, "storm", bytes.NewReader(storm.Content), true); err != nil {
			t.Fatal(err)
		}

		// It may kill the shell that starts it, which has not ended by then.
		if res := a.MustExec(t, s.ID,
			harness.ShellExec("./storm "+signal+" >/dev/null 2>&1 &")); !slices.Contains(append(wants, api.OK), res.Verdict) {
			t.Errorf("the storm of %s begins with %s", signal, res.Verdict)
		}

		seen := map[api.Verdict]int{}
		for range 3 {
			e := harness.ShellExec("while :; do :; done")
			e.Limits = api.Limits{Wall: harness.Slowly(0.3)}
			if signal == "9" {
				e.Limits.Wall = harness.Seconds(25)
			}
			res := a.MustExec(t, s.ID, e)
			seen[res.Verdict]++
			if !slices.Contains(wants, res.Verdict) {
				t.Errorf("signal %s: %s, %d; want one of %s", signal, res.Verdict, res.Signal, wants)
			}
		}

		if seen[wants[0]] == 0 {
			t.Errorf("signal %s: %v: there was no storm", signal, seen)
		}

		harness.Eventually(t, "the storm of "+signal+" to be alone in its session", func() bool { // the last exec's process ends a little later
			now, err := a.Session(t.Context(), s.ID)
			if err != nil {
				t.Fatalf("signal %s: the session is not alive: %v", signal, err)
			}
			return *now.Usage.Processes.Value == 1
		})

		if err := a.DeleteSession(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
	}
}

// Processes that an exec leaves running and that write to its output neither delay its answer nor
// exceed its limit.
func TestSessionExecEndsUnderItsWriters(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	res := a.Shell(t, s.ID, "yes & echo first; sleep 0.2")
	if res.Verdict != api.OK && res.Verdict != api.OutputLimit || res.Timing.Finish > int64(harness.Slow(10*time.Second)) {
		t.Errorf("%s, finished in %d ns", res.Verdict, res.Timing.Finish)
	}

	begun := time.Now()
	for range 5 {
		e := harness.ShellExec("yes & exit 0")
		e.Limits = api.Limits{Output: 1000, Wall: harness.Seconds(25)}
		if res := a.MustExec(t, s.ID, e); res.Verdict != api.OK && res.Verdict != api.OutputLimit || len(res.Stdout) > 1000 {
			t.Errorf("%s with %d bytes", res.Verdict, len(res.Stdout))
		}
	}

	if took := time.Since(begun); took > harness.Slow(15*time.Second) {
		t.Errorf("five took %s", took)
	}

	for deadline := harness.Patience(); len(harness.ProcessesNamed(t, "yes")) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a program whose output has no reader lives on")
		}
	}
}

// Each exec has the same properties as a run: its user, its permissions, what it inherits.
func TestSessionExecHasThePostureOfARun(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	startBackground(t, a, s.ID)
	// The number of queued signals (SigQ) is another one whenever a child of the same user ends.
	look := `id -u; grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Sig)' /proc/self/status | sed 's,^SigQ:.*/,SigQ: ?/,'; ` +
		`cat /proc/self/cgroup | cut -d: -f3 | sort -u; ls /proc/self/fd; umask; cat /proc/self/oom_score_adj; ` +
		`ulimit -n; ulimit -s; ulimit -c; ls -l /proc/self/ns/net | wc -l; cat /proc/sys/kernel/hostname 2>&1`
	asExec, asRun := a.Shell(t, s.ID, look), a.MustRun(t, func() api.Run { r := harness.Sh(look); r.Limits.Memory = 64 * api.MiB; return r }())
	if string(asExec.Stdout) != string(asRun.Stdout) || len(asRun.Stdout) < 100 {
		t.Errorf("an exec sees\n%s\na run\n%s", asExec.Stdout, asRun.Stdout)
	}

	for _, script := range []string{
		"echo x > /etc/x", "mount -t tmpfs none /mnt", "kill -9 1", "echo 0 > /proc/1/oom_score_adj", "cat /proc/1/environ", "ls /proc/1/root",
		"unshare -U true", "mkdir /sys/fs/cgroup/x",
	} {
		if res := a.Shell(t, s.ID, script); res.Verdict == api.OK {
			t.Errorf("%s: ok in a session: %q", script, res.Stdout)
		}
	}

	wantBackgroundAlive(t, a, s.ID)

	// The image's root is read-only unless requested otherwise, and then writes stay in the
	// session.
	w := a.NewSession(t, func(s *api.SessionRequest) { s.WritableRoot = true })
	a.WantOutput(t, w.ID, "echo mine > /etc/mine; cat /etc/mine", "mine\n")
	a.WantOutput(t, w.ID, "cat /etc/mine", "mine\n")
	if res := a.Shell(t, s.ID, "cat /etc/mine"); res.Verdict == api.OK {
		t.Error("another session sees a file of a writable root")
	}
}

// The source of a language with a compiler is compiled outside the session, like a run's, and the
// artifacts are placed among the session's files.
func TestSessionCompilesOutside(t *testing.T) {
	a := harness.StartCompiler(t)
	s := a.NewSession(t, func(s *api.SessionRequest) { s.Image, s.Language = "", "made" })
	a.Put(t, s.ID, "data", "of the session")
	source := harness.Uncached(t, harness.CompilerScript)
	for i := range 2 {
		res := a.MustExec(t, s.ID, api.Exec{Source: api.Bytes(source), Argv: []string{"x"}, Stdin: []byte("in\n")})
		if res.Verdict != api.OK || !strings.Contains(string(res.Stdout), "stage run args x stdin in: of the library data lib main") {
			t.Errorf("%s, %q, %q", res.Verdict, res.Stdout, res.Stderr)
		}
		if res.Compile == nil || res.Compile.Cached != (i > 0) || !strings.Contains(string(res.Compile.Stderr), "a warning") {
			t.Errorf("compilation %d: %+v", i, res.Compile)
		}
	}

	res := a.MustExec(t, s.ID, api.Exec{Source: api.Bytes(harness.Uncached(t, "cat data >&2; exit 1"))})
	if res.Verdict != api.CompileError || strings.Contains(string(res.Stderr), "of the session") {
		t.Errorf("a compiler that fails: %s, %q", res.Verdict, res.Stderr)
	}

	a.WantOutput(t, s.ID, "./main < /dev/null | grep -c made; cat data", "1\nof the session")
	var warned string
	_, err := a.ExecEvents(t.Context(), s.ID, api.Exec{Source: api.Bytes(source)}, nil, client.Events{
		Compiled: func(c api.Compilation) { warned = string(c.Stderr) },
	})
	if err != nil || !strings.Contains(warned, "a warning") {
		t.Errorf("streamed: %v, %q", err, warned)
	}
}
