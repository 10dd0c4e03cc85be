package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// An Attempt is one line of a probe: a call, and the name of its errno or "0".
type Attempt struct{ ID, Call, Errno string }

// Attempts parses the lines of a probe; other output is skipped.
func Attempts(out []byte) ([]Attempt, error) {
	var list []Attempt
	for line := range bytes.Lines(out) {
		if !bytes.HasPrefix(line, []byte(`{"id":`)) {
			continue
		}
		var a Attempt
		if err := json.Unmarshal(line, &a); err != nil {
			return list, fmt.Errorf("line %q: %w", line, err)
		}
		list = append(list, a)
	}
	return list, nil
}

// Wanted returns the errnos that a case allows for a call: by the call's own name first, otherwise
// by a pattern.
func (c Case) Wanted(call string) ([]string, bool) {
	if w, ok := c.Errno[call]; ok {
		return w, true
	}
	plain := func(s string) string { return strings.ReplaceAll(s, "/", "|") } // a path is one word for a pattern
	for pattern, w := range c.Errno {
		if ok, err := path.Match(plain(pattern), plain(call)); err == nil && ok {
			return w, true
		}
	}
	return nil, false
}

// Check returns where a result differs from what the case demands, or nothing. No output may
// contain any of secrets. Check is a pure function.
func (c Case) Check(res api.Result, secrets []string) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	out := string(res.Stdout)
	if !slices.Contains(c.Verdicts, res.Verdict) {
		say("verdict %s (signal %d, exit %d, denial %+v); want %v\nstdout %.600q\nstderr %.300q", res.Verdict, res.Signal,
			res.ExitCode, res.Denial, c.Verdicts, out, res.Stderr)
	}

	list, err := Attempts(res.Stdout)
	if err != nil {
		say("%v", err)
	}
	if c.Lines != 0 && len(list) != c.Lines {
		say("%d attempts; want %d", len(list), c.Lines)
	}

	for _, a := range list {
		if want, ok := c.Wanted(a.Call); !ok && c.Errno != nil || ok && !slices.Contains(want, a.Errno) {
			say("%s: %s; want %v", a.Call, a.Errno, want)
		}
	}

	c.checkText(out, say)
	for _, s := range append([]string{"RESIDUE"}, secrets...) {
		if strings.Contains(out, s) || bytes.Contains(res.Stderr, []byte(s)) {
			say("output contains %q", s)
		}
	}

	if c.Hit != "" && !slices.ContainsFunc(res.LimitsHit, func(h string) bool { return strings.Contains(h, c.Hit) }) {
		say("limits hit: %v; want %s", res.LimitsHit, c.Hit)
	}
	if took := time.Duration(res.Timing.Wall + res.Timing.Finish); c.WithinMS != 0 &&
		took > time.Duration(c.WithinMS)*time.Millisecond {
		say("took %s; want within %d ms", took, c.WithinMS)
	}

	c.checkFiles(res.Files, secrets, say)
	return wrong
}

func (c Case) checkText(out string, say func(string, ...any)) {
	for _, re := range c.Stdout {
		if !regexp.MustCompile(re).MatchString(out) {
			say("stdout does not match %q: %.600q", re, out)
		}
	}

	for re, allowed := range c.Only {
		for _, m := range regexp.MustCompile("(?m)"+re).FindAllStringSubmatch(out, -1) {
			if !slices.Contains(allowed, m[1]) {
				say("%q is not among %v", m[0], allowed)
			}
		}
	}

	for _, re := range c.Same {
		all := regexp.MustCompile("(?m)"+re).FindAllStringSubmatch(out, -1)
		for _, m := range all {
			if m[1] != all[0][1] {
				say("%q differs from %q", m[0], all[0][0])
			}
		}
	}
}

func (c Case) checkFiles(files []api.File, secrets []string, say func(string, ...any)) {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		for _, s := range secrets {
			if bytes.Contains(f.Content, []byte(s)) {
				say("file %s holds %q", f.Name, s)
			}
		}
	}

	for _, n := range c.NoFiles {
		if slices.Contains(names, n) {
			say("file %s was collected", n)
		}
	}

	for _, n := range c.Files {
		if !slices.Contains(names, n) {
			say("file %s was not collected: %v", n, names)
		}
	}
}
