package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"brig": main, "brigd": fakeBrigd})
}

// fakeBrigd is a fake of brigd --private: it serves the inherited socket until its lifeline is
// closed.
func fakeBrigd() {
	if want := []string{"--private", "--listen-fd", "3", "--image-memory=read", "--template-memory=none"}; !slices.Equal(os.Args[1:], want) {
		fmt.Fprintf(os.Stderr, "brigd: started with %q; want %q\n", os.Args[1:], want)
		os.Exit(1)
	}
	if why := os.Getenv("BRIGD_FAILS"); why != "" {
		fmt.Fprintln(os.Stderr, "brigd:", why)
		os.Exit(1)
	}

	ln, err := net.FileListener(os.NewFile(3, "socket"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "brigd:", err)
		os.Exit(1)
	}

	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.NewFile(4, "lifeline"))
		cancel()
	}()
	f := &fake{started: make(chan struct{}, 16)}
	if err := agent.New(agent.Config{Runner: f, Catalog: f}).Serve(ctx, ln); err != nil {
		fmt.Fprintln(os.Stderr, "brigd:", err)
	}
	if mark := os.Getenv("BRIGD_ENDED"); mark != "" {
		os.WriteFile(mark, nil, 0o644)
	}
}

// TestScripts runs testdata/script (FIO-18 is input.txtar, FIO-20 target.txtar) against an agent
// with fake programs: no cell is made. The scripts with real programs are in /testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			dir, err := os.MkdirTemp("", "brig") // $WORK is too long for a socket's name
			if err != nil {
				return err
			}

			socket := filepath.Join(dir, "s")
			ln, err := net.Listen("unix", socket)
			if err != nil {
				return err
			}

			f := &fake{started: make(chan struct{}, 16)}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			sessions := &fakeSessions{fake: f}
			srv := agent.New(agent.Config{Runner: f, Sessions: sessions, Volumes: fakeVolumes{sessions}, Catalog: f,
				Health: func() api.Health { return api.Health{} }})
			go func() { done <- srv.Serve(ctx, ln) }()
			env.Defer(func() { cancel(); <-done; os.RemoveAll(dir) })
			env.Setenv("BRIG_SOCKET", socket)
			env.Values["fake"] = f
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "private" {
				return false, fmt.Errorf("condition %q is unknown", cond)
			}
			c, err := net.Dial("unix", caller.DefaultSocket)
			if err == nil {
				c.Close()
			}
			return err != nil && os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"started": func(ts *testscript.TestScript, neg bool, args []string) { // waits for a program to start
				select {
				case <-ts.Value("fake").(*fake).started:
				case <-time.After(time.Minute):
					ts.Fatalf("no program has started")
				}
			},
			"service":      serveScript,
			"http-run":     runOverHTTP,
			"http-refused": refusedOverHTTP,
			"exits": func(ts *testscript.TestScript, neg bool, args []string) { // exits CODE CMD ARGS...
				err := ts.Exec(args[1], args[2:]...)
				got := 0
				if e, ok := err.(interface{ ExitCode() int }); ok {
					got = e.ExitCode()
				} else if err != nil {
					ts.Fatalf("%v", err)
				}
				if want, _ := strconv.Atoi(args[0]); got != want || neg {
					ts.Fatalf("exit code %d; want %s", got, args[0])
				}
			},
		},
	})
}

// fake imitates programs: argv, or the lines of a source, say what they do. A source that begins
// with "# fails" prints its other lines to stderr and exits with 1. For one that begins with
// "# broken", the compiler prints the other lines, and makes nothing.
type fake struct{ started chan struct{} }

func (*fake) Languages(context.Context) []api.Language {
	return []api.Language{{Name: "python", Extensions: []string{"py"}, Image: "python", Stored: true, Tier: "default"},
		{Name: "rare", Extensions: []string{"rr"}, Image: "nowhere", Tier: "strict", CompileTier: "strict"}}
}

func (*fake) Profiles() []api.Profile { return nil }

func (f *fake) Run(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
	switch {
	case s.Attach == nil && len(r.Files) > 0:
		return fakeChecker(r), nil
	case len(r.Tests) > 0:
		return fakeTests(r, s), nil
	case s.Attach == nil: // a run of a service
		s = api.Streams{Attach: func(api.Attached) {}, Stdout: io.Discard, Stderr: io.Discard}
	}

	in, stdin, err := os.Pipe()
	if err != nil {
		return api.Result{}, err
	}
	defer in.Close()

	s.Attach(api.Attached{Stdin: stdin})
	f.started <- struct{}{}
	limits := r.Limits.Over(api.Defaults()).Resolve()
	res := api.Result{Run: "r1", Verdict: api.OK, Stage: api.StageRun, Limits: limits,
		Usage: api.Usage{Memory: api.Known(int64(limits.Memory), "memory.max_usage_in_bytes"), CPU: api.Known(1500e6, "cpuacct.usage")}}
	argv := r.Argv
	if said, fails := strings.CutPrefix(string(r.Source), "# fails\n"); fails {
		io.WriteString(s.Stderr, said)
		res.Verdict, res.ExitCode = api.Nonzero, 1
		return res, nil
	}
	if said, broken := strings.CutPrefix(string(r.Source), "# broken\n"); broken {
		res.Verdict, res.Stage, res.Stderr = api.CompileError, api.StageCompile, api.Bytes(said)
		return res, nil
	}
	if r.Source != nil {
		fmt.Fprintf(s.Stdout, "%s %s %q %q\n", r.Language, r.SourceName, r.Source, r.Argv)
		return res, nil
	}

	switch argv[0] {
	case "cat":
		io.Copy(struct{ io.Writer }{s.Stdout}, in)
	case "head":
		line := make([]byte, 2)
		io.ReadFull(in, line)
		s.Stdout.Write(line)
	case "say":
		fmt.Fprintln(s.Stdout, argv[1])
		fmt.Fprintln(s.Stderr, argv[2])
	case "exit":
		res.ExitCode, _ = strconv.Atoi(argv[1])
		res.Verdict = api.Nonzero
	case "signal":
		res.Signal, _ = strconv.Atoi(argv[1])
		res.SignalName, res.Verdict, res.ExitCode = "SIGSEGV", api.Signaled, -1
	case "verdict":
		res.Verdict = api.Verdict(argv[1])
		res.Logged = []api.Denial{{Syscall: "getcwd", Rule: "mine: kill", Why: "to see", Allowed: true}}
		res.Denial = &api.Denial{Syscall: "ptrace", Number: 101, Rule: "default: kill", Why: "reads another process"}
	case "refuse":
		return res, api.Refuse(api.Code(argv[1]), "no: %s", argv[1])
	case "show":
		fmt.Fprintf(s.Stdout, "%+v\n", r.Limits)
		for _, file := range r.Files {
			fmt.Fprintf(s.Stdout, "file %s %q\n", file.Name, file.Content)
		}
		fmt.Fprintf(s.Stdout, "env %v labels %+v collect %+v root %v mode %s profile %s %s\n", r.Env, r.Labels, r.Collect, r.WritableRoot, r.Mode,
			r.Profile, r.ProfileRules)

	case "files":
		res.Files = []api.File{{Name: "out/a.txt", Content: []byte("new\n")}, {Name: "b.txt", Content: []byte("b\n")}}
		res.Skipped = []api.Skipped{{Name: "link", Reason: "is a symbolic link"}}
	case "escape":
		res.Files = []api.File{{Name: argv[1], Content: []byte("hostile")}}
	case "hello.py", "nosuch.py", "-c":
		return res, api.Refuse(api.CodeNoProgram, "%s: no such program in image sha256:%064d, or its interpreter is "+
			"missing there", argv[0], 7)
	case "wait":
		<-ctx.Done()
		res.Verdict = api.Canceled
	}

	return res, nil
}

// fakeTests imitates a program that prints its input, on each test.
func fakeTests(r api.Run, s api.Streams) api.Result {
	all := make([]api.TestResult, 0, len(r.Tests))
	for _, t := range r.Tests {
		one := api.TestResult{ID: t.ID, Answer: api.Accepted, Result: api.Result{Verdict: api.OK, Stage: api.StageRun}}
		if t.Expected == nil || string(*t.Expected) != string(t.Stdin) {
			one.Answer, one.Difference = api.WrongAnswer, "it says "+string(t.Stdin)
		}
		s.Test(one)
		all = append(all, one)
	}
	sum := api.Summarize(len(r.Tests), all)
	return api.Result{Run: "r1", Verdict: api.OK, Stage: api.StageRun, Tests: all, Summary: &sum}
}

// fakeChecker imitates the checker that brig check runs: it finds the word before the first bracket
// of the source, and does not finish for the source "cut".
func fakeChecker(r api.Run) api.Result {
	res := api.Result{Run: "r1", Verdict: api.OK, Stage: api.StageRun}
	word, _, _ := strings.Cut(string(r.Files[0].Content), "(")
	if rule, ok := map[string]string{"eval": "python-eval", "__import__": "python-import"}[word]; ok {
		res.Stdout = fmt.Appendf(nil, "{\"rule\": %q, \"line\": 1, \"column\": 1, \"name\": %q}\n", rule, word)
	}
	if word != "cut\n" {
		res.Stdout = append(res.Stdout, "{\"done\": true}\n"...)
	}
	return res
}
