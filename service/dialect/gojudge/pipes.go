package gojudge

import (
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// A pipe leads from a descriptor that one command writes to, to one that another reads.
type pipe struct {
	In  end `json:"in"`  // writes
	Out end `json:"out"` // reads

	// How the original copies, and under which name and to which size it tells what went through: brig never copies, and
	// tells none of it.
	Name            string `json:"name"`
	Max             int64  `json:"max"`
	Proxy           bool   `json:"proxy"`
	DisableZeroCopy bool   `json:"disableZeroCopy"`
}

// An end is a descriptor of a command.
type end struct {
	Index int `json:"index"`
	FD    int `json:"fd"`
}

// Connections are the pipes of a request, as brig has them: two commands that talk with each other run at the same
// time, and one that only reads what another one wrote runs after it.
type connections struct {
	partner map[int]int // of both of two commands that talk with each other
	writer  map[int]int // of a command that reads: the one that wrote
	writes  map[int]bool
}

// connect finds the connections of commands.
func connect(commands []command, pipes []pipe) (c connections, bad string) {
	c = connections{partner: map[int]int{}, writer: map[int]int{}, writes: map[int]bool{}}
	reader := map[int]int{}
	for i, p := range pipes {
		for _, e := range []end{p.In, p.Out} {
			switch {
			case e.Index < 0 || e.Index >= len(commands):
				return c, fmt.Sprintf("pipeMapping[%d]: there is no cmd[%d]", i, e.Index)
			case e.FD >= 0 && e.FD < len(commands[e.Index].Files) && commands[e.Index].Files[e.FD] != nil:
				return c, fmt.Sprintf("pipeMapping[%d]: files[%d] of cmd[%d] must be null, since the descriptor is a pipe", i, e.FD, e.Index)
			}
		}

		_, twiceRead := c.writer[p.Out.Index]
		_, twiceWritten := reader[p.In.Index]
		switch {
		case p.In.FD != 1 || p.Out.FD != 0:
			return c, fmt.Sprintf("pipeMapping[%d] leads from descriptor %d to descriptor %d, which is not supported: brig has "+
				"pipes from stdout (1) to stdin (0)", i, p.In.FD, p.Out.FD)
		case p.In.Index == p.Out.Index:
			return c, fmt.Sprintf("pipeMapping[%d] leads from cmd[%d] to itself, which is not supported", i, p.In.Index)
		case twiceRead || twiceWritten:
			return c, fmt.Sprintf("pipeMapping[%d] has a descriptor that another pipe has, too", i)
		}
		c.writer[p.Out.Index], reader[p.In.Index] = p.In.Index, p.Out.Index
	}

	for out, in := range c.writer {
		if back, is := c.writer[in]; is && back == out {
			c.partner[out] = in
			continue
		}
		c.writes[in] = true
	}
	for one := range c.partner {
		delete(c.writer, one)
	}
	return c, ""
}

// atTerminals refuses a command that has a terminal and a pipe.
func (c connections) atTerminals(commands []command) (bad string) {
	for i, one := range commands {
		_, talks := c.partner[i]
		_, reads := c.writer[i]
		if one.TTY && (talks || reads || c.writes[i]) {
			return fmt.Sprintf("cmd[%d] has a tty and a pipe, which is not supported: its stdin and stdout are the terminal", i)
		}
	}
	return ""
}

// order is the order in which commands run: one that reads comes after the one that writes, and all others stay where
// they are. Of two that talk with each other it has the first.
func (c connections) order(n int) (commands []int, bad string) {
	done := make([]bool, n)
	for len(commands) < n-len(c.partner)/2 {
		before := len(commands)
		for i := range n {
			in, reads := c.writer[i]
			partner, talks := c.partner[i]
			if done[i] || reads && !done[in] || talks && partner < i {
				continue
			}
			done[i] = true
			commands = append(commands, i)
		}
		if len(commands) == before {
			return nil, "pipeMapping connects more than two commands in a circle, which is not supported: brig has two that " +
				"talk with each other, and commands of which each reads what the one before it wrote"
		}
	}
	return commands, ""
}

// together makes one run of two commands that talk with each other: the second is the interactor of the first.
func together(first, second *job) api.Run {
	run, other := first.run, second.run
	run.Tests = []api.Test{{ID: "1"}}
	run.Collect.Blobs, other.Collect.Blobs = false, false // the result of a test has the content of its files
	for _, j := range []*job{first, second} {
		if j.stderr != nil {
			run.KeepOutput = max(run.KeepOutput, api.Size(max(min(j.stderr.max, int64(mostStream)), 1)))
		}
	}
	run.Interactor = &api.Interactor{
		Program:  api.Program{Image: other.Image, Argv: other.Argv, Files: other.Files, Limits: other.Limits},
		Protocol: api.ProtocolNone, Env: other.Env, Collect: &other.Collect,
	}
	return run
}

// resultOf is the result of the command of a job.
func (j *job) resultOf(results []api.Result) api.Result {
	res := results[j.at]
	if j.role == alone || len(res.Tests) == 0 { // it was canceled before it began
		return res
	}

	test := res.Tests[0]
	one := test.Result
	if j.role == second {
		one = api.Result{}
		if o := test.Interactor; o != nil {
			one = api.Result{Verdict: o.Verdict, ExitCode: o.ExitCode, Signal: o.Signal, SignalName: o.SignalName, Stderr: o.Stderr,
				Usage: o.Usage, Timing: o.Timing, Files: o.Files, Skipped: o.Skipped}
		}
	}
	one.StderrTruncated = one.Usage.StderrBytes > int64(len(one.Stderr))
	return one
}
