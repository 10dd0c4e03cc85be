// Command bench measures the cost of a run compared with a plain spawn of the same
// program, both in one invocation: on a shared machine only the ratios are reliable.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/testagent"
)

func main() {
	var cfg config
	cfg.own.Register(pflag.CommandLine)
	pflag.StringVar(&cfg.program, "program", "/bin/true", "program to run")
	pflag.IntVar(&cfg.rounds, "rounds", 5, "interleaved rounds")
	pflag.IntVar(&cfg.hot, "runs", 1000, "runs back to back, per client and round")
	pflag.IntVar(&cfg.sparse, "sparse", 100, "runs 10 ms apart, per round")
	pflag.IntVar(&cfg.soak, "soak", 100_000, "runs of the endurance test; 0: skip it")
	pflag.IntVar(&cfg.sleepers, "sleepers", 500, "runs that sleep concurrently; 0: skip them")
	pflag.IntVar(&cfg.sessions, "sessions", 50,
		"sessions to create, and four times as many commands in one session; 0: skip them")
	pflag.IntVar(&cfg.sleepingSessions, "sleeping-sessions", 1000, "sessions that wait concurrently; 0: skip them")
	pflag.IntVar(&cfg.packages, "packages", 100, "runs of Python with packages and without, per round; 0: skip them")
	pflag.IntVar(&cfg.crowd, "crowd", 60,
		"seconds during which 64 clients send requests to brig serve; 0: skip the gateway")
	pflag.StringSliceVar(&cfg.languages, "languages", nil,
		"languages in which hello is timed (default: all with a stored image)")
	pflag.IntVar(&cfg.hellos, "hellos", 20, "runs of hello per language and round; 0: skip languages")
	pflag.IntVar(&cfg.submissions, "submissions", 40,
		"submissions of the class that brig grade judges; 0: skip the cost of judging")
	pflag.IntVar(&cfg.graded, "graded", 500,
		"programs with 10 tests that the Python client grades (the target is meant for 5000); 0: skip the Python client")
	pflag.IntVar(&cfg.spoken, "dialects", 300,
		"requests of each dialect, alternately with /v1/runs; 0: skip dialects")
	pflag.StringArrayVar(&cfg.write, "write", nil, "replace the measured block of this Markdown file (repeatable)")
	pflag.StringArrayVar(&cfg.summaries, "summary", nil, "replace the summary block of this Markdown file (repeatable)")
	pflag.StringVar(&cfg.goJudge, "go-judge", "", "`URL` of a running go-judge: only compare brig with it")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()

	if err := run(ctx, cfg); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A config says what to measure.
type config struct {
	own                                 testagent.Options
	program, goJudge                    string
	rounds, hot, sparse, soak, sleepers int
	sessions, packages                  int
	sleepingSessions                    int
	crowd                               int // seconds
	languages                           []string
	hellos                              int
	submissions                         int
	graded                              int
	spoken                              int
	write                               []string // files with a measured block
	summaries                           []string // files with a summary block
}

// sparseGap is the pause between sparse runs: long enough for the kernel and the
// processors to become idle.
const sparseGap = 10 * time.Millisecond
