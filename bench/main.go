// Command bench measures what a run costs beside the plain spawn of the same
// program, in the same run: on a shared machine only the ratios hold.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/ownagent"
)

func main() {
	var cfg config
	cfg.own.Register(pflag.CommandLine)
	pflag.StringVar(&cfg.program, "program", "/bin/true", "program to run")
	pflag.IntVar(&cfg.rounds, "rounds", 5, "interleaved rounds")
	pflag.IntVar(&cfg.hot, "runs", 1000, "runs back to back, per client and round")
	pflag.IntVar(&cfg.sparse, "sparse", 100, "runs 10 ms apart, per round")
	pflag.IntVar(&cfg.soak, "soak", 100_000, "runs of the endurance test; 0 leaves it out")
	pflag.IntVar(&cfg.sleepers, "sleepers", 500, "runs that sleep at the same time; 0 leaves them out")
	pflag.IntVar(&cfg.sessions, "sessions", 50, "sessions that are made, and four times as many commands in one; 0 leaves them out")
	pflag.IntVar(&cfg.crowd, "crowd", 60, "seconds that 64 clients ask brig serve; 0 leaves the gateway out")
	pflag.StringSliceVar(&cfg.languages, "languages", nil, "languages to time hello in (default: all whose image is stored)")
	pflag.IntVar(&cfg.hellos, "hellos", 20, "hellos per language and round; 0 leaves languages out")
	pflag.StringArrayVar(&cfg.write, "write", nil, "Markdown file whose measured block is replaced (repeatable)")
	pflag.StringVar(&cfg.goJudge, "go-judge", "", "`URL` of a running go-judge: measure brig beside it, and nothing else")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	if err := run(ctx, cfg); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A config says what is measured.
type config struct {
	own                                 ownagent.Options
	program, goJudge                    string
	rounds, hot, sparse, soak, sleepers int
	sessions                            int
	crowd                               int // seconds
	languages                           []string
	hellos                              int
	write                               []string // files with a measured block
}

// sparseGap is the pause between sparse runs: long enough for the kernel and the
// processors to settle.
const sparseGap = 10 * time.Millisecond
