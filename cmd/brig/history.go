package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/remote"
)

// historyCommand is brig history: what brig serve has run.
func historyCommand(c *console, args []string) int {
	var f remote.Filter
	var verdicts []string
	s := c.flags("history", `
List the runs that brig serve carried out, the newest first. brig explain says more of
one of them. What brig run does itself is not in it. MEM is the memory that was charged to
the run.

`+serviceText+`

Usage:
  brig history [flags]

Examples:
  brig history
  brig history --failed --since 1h
  brig history --project course --task ann --verdict wall-limit --verdict cpu-limit
  brig history --limit 1000 --json`)
	s.IntVarP(&f.Limit, "limit", "n", 20, "most runs to list, up to 10000")
	s.StringVar(&f.Project, "project", "", "of this `PROJECT`, as its label says")
	s.StringVar(&f.Task, "task", "", "of this `TASK`, as its label says")
	s.StringVarP(&f.Language, "language", "l", "", "in this language: `NAME`")
	s.StringSliceVar(&verdicts, "verdict", nil, "that ended with this `VERDICT`, such as ok or wall-limit (repeatable)")
	s.BoolVar(&f.Failed, "failed", false, "that are no success: wrong answers and failures of the service too")
	since := s.String("since", "", "asked for since then: a `TIME` such as 2026-01-31 or 2026-01-31T12:00:00Z, or so long ago, such as 1h30m")
	until := s.String("until", "", "asked for before then: a `TIME`, likewise")
	s.BoolVar(&f.All, "all", false, "of every key; for keys with admin")
	asJSON := s.Bool("json", false, "print them as the service has them")
	base := urlFlag(s)
	if code, done := c.parse(s, args); done {
		return code
	}
	var err, worse error
	f.Since, err = moment(*since, time.Now())
	f.Until, worse = moment(*until, time.Now())
	for _, v := range verdicts {
		f.Verdicts = append(f.Verdicts, api.Verdict(v))
	}
	switch err := errors.Join(err, worse); {
	case err != nil:
		return c.hint("history", err)
	case s.NArg() > 0:
		return c.hint("history", fmt.Errorf("history takes no argument %q: brig explain RUN_ID tells of one run", s.Arg(0)))
	case f.Limit < 1:
		return c.hint("history", fmt.Errorf("--limit is %d: the least is 1", f.Limit))
	}
	return c.askService("history", *base, func(ctx context.Context, s serviceHandle) error {
		page, err := s.History(ctx, f)
		if err != nil {
			return err
		}
		if *asJSON {
			c.stdout.Write(marshal(page))
			return nil
		}
		return c.listRuns(page.Items)
	})
}

// moment reads a point in time: its date, with or without a time of day, or how long
// before now it was. Empty is the zero time.
func moment(text string, now time.Time) (time.Time, error) {
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
	return time.Time{}, fmt.Errorf("time %.40q: write a date, such as 2026-01-31 or 2026-01-31T12:00:00Z, or how long ago it was, such as 90m or 24h", text)
}

// listRuns writes a line for each.
func (c *console) listRuns(all []api.Record) error {
	if len(all) == 0 {
		c.note("the history has no such run")
		return nil
	}
	t := tabwriter.NewWriter(c.text(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tASKED FOR\tKEY\tPROJECT\tTASK\tLANGUAGE\tVERDICT\tTESTS\tCPU(ms)\tMEM(MiB)")
	for _, r := range all {
		tests := "-"
		if r.Summary != nil {
			tests = strconv.Itoa(r.Summary.Accepted) + "/" + strconv.Itoa(r.Summary.Tests)
		}
		fmt.Fprintln(t, strings.Join([]string{
			printable(r.ID), r.Created.Local().Format(time.DateTime), orWord(printable(r.Owner), "-"), orWord(printable(r.Project), "-"), orWord(printable(r.Task), "-"),
			orWord(printable(r.Language), "-"), printable(orWord(string(r.Verdict), string(r.Code))), tests, inMillis(api.Figure{Value: r.CPU}), inMiB(api.Figure{Value: r.Memory}),
		}, "\t"))
	}
	return t.Flush()
}
