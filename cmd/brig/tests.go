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

// A testPair has the files of one test that --tests found.
type testPair struct {
	id       string // the path below the directory, without its extension
	in       string // file of its input, below the directory
	expected string // file of its answer, below the directory
}

// findTests pairs the files below dir: NAME.in with NAME.ans or NAME.out. A NAME.out without a
// NAME.in may be something else, such as a.out, and is returned in unpaired.
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
				return nil, nil, fmt.Errorf("--tests %s: %s has no input: there is no %s.in", dir, file, stem)
			}
		case ".out":
			if !found[stem+".in"] {
				unpaired = append(unpaired, file)
			}
		}
	}
	if len(pairs) == 0 {
		return nil, nil, fmt.Errorf("--tests %s: there are no tests: a test is a NAME.in with a NAME.ans or NAME.out", dir)
	}
	slices.SortFunc(pairs, func(a, b testPair) int { return compareNumerically(a.id, b.id) })
	slices.SortFunc(unpaired, compareNumerically)
	return pairs, unpaired, nil
}

// compareNumerically orders names as people count: 2 before 10.
func compareNumerically(a, b string) int {
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

// digits is the number of digits that a begins with.
func digits(a string) int { return len(a) - len(strings.TrimLeft(a, "0123456789")) }

// The largest file of a test that goes into the request itself, and the most for all of them. Any
// other file goes to the agent as a blob, which the agent keeps for the next run.
const (
	inlineTest  = 64 << 10
	inlineTests = 8 << 20
)

// readTests reads the tests of the run from files below dir, and sends large files to the agent as
// blobs.
func readTests(ctx context.Context, agent *agentHandle, dir string, pairs []testPair) ([]api.Test, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, withoutSyscall(err)
	}
	defer root.Close()
	inline := 0
	read := func(file string) (api.Bytes, string, error) {
		content, err := readBelow(root, file, maxInput)
		if err != nil {
			return nil, "", fmt.Errorf("--tests %s: %w", dir, withSizeRemedy(err))
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

// runTests executes the run of --tests, and shows each test as it ends.
func (c *cli) runTests(ctx context.Context, agent *agentHandle, o *runOptions) (api.Result, error) {
	var err error
	if o.run.Tests, err = readTests(ctx, agent, o.testsDir, o.pairs); err != nil {
		return api.Result{}, err
	}
	table := newTestTable(c, o)
	res, err := retryWhileBusy(ctx, c, o.wait, func() (api.Result, error) {
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

// checkTests refuses flags that contradict --tests or need it, and finds the tests.
func (o *runOptions) checkTests() (err error) {
	if o.testsDir == "" {
		switch {
		case o.run.Compare != (api.Compare{}), o.run.StopAtFailure:
			return fmt.Errorf("--compare, --tolerance and --stop-at-failure apply to tests: add --tests DIR")
		}
		return nil
	}
	if err := o.checkOneProgram(); err != nil {
		return err
	}
	if o.out != "" || len(o.collect) > 0 {
		return fmt.Errorf("--tests collects no files: leave out --out and --collect")
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

// checkOneProgram refuses further files after FILE: a user whose shell expands submissions/*.py wants
// to judge each, but all except the first would be arguments of the first. A -- before or after
// FILE says that they are arguments.
func (o *runOptions) checkOneProgram() error {
	if o.hasDash || o.hasCode || o.isCommand() || slices.Contains(o.args[1:], "--") {
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
	what := more[0] + " follows"
	if n := len(more) - 1; n > 0 {
		what = fmt.Sprintf("%s and %d more follow", more[0], n)
	}
	all := filepath.Join(filepath.Dir(o.args[0]), "*"+filepath.Ext(o.args[0]))
	return fmt.Errorf("--tests judges one program, but %s %s: %s; to pass files as arguments write -- before %[2]s", what, o.args[0], loopCommand(all, o.testsDir))
}

// loopCommand is a shell command that judges files one by one.
func loopCommand(files, tests string) string {
	return fmt.Sprintf(`run brig once for each: for f in %s; do echo "$f"; brig run --tests %s "$f"; done`, files, tests)
}
