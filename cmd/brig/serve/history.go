package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/service/client"
)

// HistoryCommand is brig history: the runs of brig serve.
func HistoryCommand(c *cli.CLI) *cobra.Command {
	var f client.Filter
	var verdicts []string
	k, s := cli.NewCommand("history", `
List the runs of brig serve, the newest first. brig explain describes one of them. Runs of
brig run are not included. MEM is the memory that was charged to the run.

`+serviceText+`

Usage:
  brig history [flags]

Examples:
  brig history
  brig history --failed --since 1h
  brig history --project course --task ann --verdict wall-limit --verdict cpu-limit
  brig history --limit 1000 --json`)

	s.IntVarP(&f.Limit, "limit", "n", 20, "maximum number of runs to list, up to 10000")
	s.StringVar(&f.Project, "project", "", "only runs with this `PROJECT` as label")
	s.StringVar(&f.Task, "task", "", "only runs with this `TASK` as label")
	s.StringVar(&f.Run, "run", "", "only runs with this `RUN` as label, which is not the id in the first column")
	s.StringVarP(&f.Language, "language", "l", "", "only runs in the language `NAME`")
	s.StringSliceVar(&verdicts, "verdict", nil, "only runs with this `VERDICT`, such as ok or wall-limit (repeatable)")
	s.BoolVar(&f.Failed, "failed", false, "only runs without success, including wrong answers and failures of the service")
	since := s.String("since", "",
		"only runs requested since this `TIME`, such as 2026-01-31 or 2026-01-31T12:00:00Z, or a time before now, such as 1h30m")
	until := s.String("until", "", "only runs requested before this `TIME`, in the same forms")
	s.BoolVar(&f.All, "all", false, "runs of all keys; needs a key with admin")
	asJSON := s.Bool("json", false, "print the service's answer as JSON")
	base := urlFlag(s)
	return c.Does(k, func() int {
		var err, worse error
		f.Since, err = parseTime(*since, time.Now())
		f.Until, worse = parseTime(*until, time.Now())
		for _, v := range verdicts {
			f.Verdicts = append(f.Verdicts, api.Verdict(v))
		}

		switch err := errors.Join(err, worse); {
		case err != nil:
			return c.Hint("history", err)
		case s.NArg() > 0:
			return c.Hint("history", fmt.Errorf("history takes no argument %q: brig explain RUN_ID describes one run", s.Arg(0)))
		case f.Limit < 1:
			return c.Hint("history", fmt.Errorf("--limit is %d: the least is 1", f.Limit))
		}

		return withService(c, "history", *base, func(ctx context.Context, s serviceHandle) error {
			page, err := s.History(ctx, f)
			if err != nil {
				return err
			}
			if *asJSON {
				c.Stdout.Write(cli.Marshal(page))
				return nil
			}
			return listRuns(c, page.Items)
		})
	})
}

// parseTime reads a point in time: its date, with or without a time of day, or how long
// before now it was. Empty is the zero time.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("time %.40q: write a date, such as 2026-01-31 or 2026-01-31T12:00:00Z, or how "+
		"long ago it was, such as 90m or 24h", text)
}

// listRuns prints a line for each run.
func listRuns(c *cli.CLI, all []api.Record) error {
	if len(all) == 0 {
		c.Note("the history has no such run")
		return nil
	}

	t := cli.AlignedTable(c.Text())
	labeled := slices.ContainsFunc(all, func(r api.Record) bool { return r.Run != "" })
	label := func(text string) string {
		if !labeled {
			return ""
		}
		return "\t" + text
	}
	fmt.Fprintln(t, "RUN\tREQUESTED\tKEY\tPROJECT\tTASK"+label("LABEL RUN")+
		"\tLANGUAGE\tVERDICT\tTESTS\tCPU(ms)\tMEM(MiB)")

	for _, r := range all {
		tests := "-"
		if r.Summary != nil {
			tests = strconv.Itoa(r.Summary.Accepted) + "/" + strconv.Itoa(r.Summary.Tests)
		}
		fmt.Fprintln(t, strings.Join([]string{
			terminal.Quote(r.ID), r.Created.Local().Format(time.DateTime), cmp.Or(terminal.Quote(r.Owner), "-"),
			cmp.Or(terminal.Quote(r.Project), "-"),
			cmp.Or(terminal.Quote(r.Task), "-") + label(cmp.Or(terminal.Quote(r.Run), "-")),
			cmp.Or(terminal.Quote(r.Language), "-"), terminal.Quote(cmp.Or(string(r.Verdict), string(r.Code))), tests,
			cli.InMillis(api.Measurement{Value: r.CPU}), cli.InMiB(api.Measurement{Value: r.Memory}),
		}, "\t"))
	}

	return t.Flush()
}
