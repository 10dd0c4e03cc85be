package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// A testPair is what --tests found of one test.
type testPair struct {
	id       string // the path below the directory, without its extension
	in       string // file of its input, below the directory
	expected string // file of its answer, likewise
}

// findTests pairs the files below dir: NAME.in with NAME.ans or NAME.out. What is NAME.out and
// answers nothing may be something else, such as a.out, and is given by name.
func findTests(dir string) (pairs []testPair, unpaired []string, err error) {
	found := map[string]bool{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		found[rel] = true
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for file := range found {
		stem := strings.TrimSuffix(file, filepath.Ext(file))
		switch filepath.Ext(file) {
		case ".in":
			p := testPair{in: file, expected: stem + ".ans"}
			if !found[p.expected] {
				p.expected = stem + ".out"
			}
			if !found[p.expected] {
				return nil, nil, fmt.Errorf("--tests %s: %s has no answer: there is neither %s.ans nor %s.out", dir, file, stem, stem)
			}
			p.id = filepath.ToSlash(stem)
			pairs = append(pairs, p)
		case ".ans":
			if !found[stem+".in"] {
				return nil, nil, fmt.Errorf("--tests %s: %s answers nothing: there is no %s.in", dir, file, stem)
			}
		case ".out":
			if !found[stem+".in"] {
				unpaired = append(unpaired, file)
			}
		}
	}
	if len(pairs) == 0 {
		return nil, nil, fmt.Errorf("--tests %s: there are no tests: each is a NAME.in beside a NAME.ans or NAME.out", dir)
	}
	slices.SortFunc(pairs, func(a, b testPair) int { return numerically(a.id, b.id) })
	slices.SortFunc(unpaired, numerically)
	return pairs, unpaired, nil
}

// numerically orders names as people count: 2 before 10.
func numerically(a, b string) int {
	for a != "" && b != "" {
		n, m := digits(a), digits(b)
		if n == 0 || m == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:n], "0"), strings.TrimLeft(b[:m], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many a begins with.
func digits(a string) int { return len(a) - len(strings.TrimLeft(a, "0123456789")) }

// What of a test goes into the request itself; what is larger, or beyond the sum,
// goes to the agent as a blob, which it keeps for the next time.
const (
	inlineTest  = 64 << 10
	inlineTests = 8 << 20
)

// readTests makes the tests of the run from files below dir, giving the agent what is large.
func readTests(ctx context.Context, agent *agentHandle, dir string, pairs []testPair) ([]api.Test, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, named(err)
	}
	defer root.Close()
	inline := 0
	read := func(file string) (api.Bytes, string, error) {
		content, err := readBelow(root, file, maxInput)
		if err != nil {
			return nil, "", fmt.Errorf("--tests %s: %w", dir, runTakes(err))
		}
		if inline += len(content); len(content) <= inlineTest && inline <= inlineTests {
			return content, "", nil
		}
		inline -= len(content)
		digest, err := agent.PutBlob(ctx, content)
		return nil, digest, err
	}
	tests := make([]api.Test, 0, len(pairs))
	for _, p := range pairs {
		t := api.Test{ID: p.id}
		var err error
		if t.Stdin, t.StdinBlob, err = read(p.in); err != nil {
			return nil, err
		}
		var answer api.Bytes
		if answer, t.ExpectedBlob, err = read(p.expected); err != nil {
			return nil, err
		}
		if t.ExpectedBlob == "" {
			t.Expected = &answer
		}
		tests = append(tests, t)
	}
	return tests, nil
}

// runTests carries out the run of --tests, showing each test as it comes.
func (c *console) runTests(ctx context.Context, agent *agentHandle, o *runOptions) (api.Result, error) {
	var err error
	if o.run.Tests, err = readTests(ctx, agent, o.testsDir, o.pairs); err != nil {
		return api.Result{}, err
	}
	table := newTestTable(c, o)
	res, err := whenFree(ctx, c, o.wait, func() (api.Result, error) {
		return agent.RunEvents(ctx, o.run, bytes.NewReader(nil), table.events())
	})
	table.end(res)
	o.explain(&res, nil)
	return res, err
}

// testsExit is 0 when every test was accepted.
func testsExit(r api.Result) int {
	switch {
	case r.Verdict == api.Canceled:
		return exitCanceled
	case r.Summary != nil && r.Summary.Accepted == r.Summary.Tests:
		return 0
	}
	return 1
}

// checkTests refuses flags that say something else beside --tests.
func (o *runOptions) checkTests() (err error) {
	if o.testsDir == "" {
		switch {
		case o.run.Compare != (api.Compare{}), o.run.StopAtFailure:
			return fmt.Errorf("--compare, --tolerance and --stop-at-failure are about tests: add --tests DIR")
		}
		return nil
	}
	if err := o.oneProgram(); err != nil {
		return err
	}
	if o.out != "" || len(o.collect) > 0 {
		return fmt.Errorf("--tests brings no files back: leave out --out and --collect")
	}
	if o.run.Compare.Tolerance != 0 && o.run.Compare.How == "" {
		o.run.Compare.How = api.CompareFloat
	}
	if info, err := os.Stat(o.testsDir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--tests %s: there is no such directory", o.testsDir)
	} else if err == nil && !info.IsDir() {
		return fmt.Errorf("--tests %s is not a directory", o.testsDir)
	}
	o.pairs, o.unpaired, err = findTests(o.testsDir)
	return err
}

// oneProgram refuses further files behind FILE: a shell that fills in submissions/*.py
// is meant to judge each, and all but the first would be arguments of the first. A --
// before or behind FILE says that they are arguments.
func (o *runOptions) oneProgram() error {
	if o.dashed || o.hasCode || o.run.Image != "" || slices.Contains(o.args[1:], "--") {
		return nil
	}
	var more []string
	for _, w := range o.args[1:] {
		if _, err := os.Stat(w); err == nil {
			more = append(more, w)
		}
	}
	if len(more) == 0 {
		return nil
	}
	what := more[0] + " stands"
	if n := len(more) - 1; n > 0 {
		what = fmt.Sprintf("%s and %d more stand", more[0], n)
	}
	all := filepath.Join(filepath.Dir(o.args[0]), "*"+filepath.Ext(o.args[0]))
	return fmt.Errorf("--tests judges one program, and %s behind %s: %s; to give it files as arguments write -- before %[2]s", what, o.args[0], eachOf(all, o.testsDir))
}

// eachOf is the line of a shell that judges files one by one.
func eachOf(files, tests string) string {
	return fmt.Sprintf(`run brig once for each: for f in %s; do echo "$f"; brig run --tests %s "$f"; done`, files, tests)
}
