package main

import (
	"bytes"
	"context"
	_ "embed" // the programs that are timed
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

var (
	//go:embed grading/talk.cpp
	talkSource api.Bytes
	//go:embed grading/checker.cpp
	checkerSource api.Bytes
	//go:embed grading/checker.py
	pythonCheckerSource api.Bytes
	//go:embed grading/sum.py
	sumSource api.Bytes
)

const (
	talkLines     = 100_000 // of the conversation that is compared with plain pipes
	testsOfAClass = 20      // per submission
)

// grading measures what judging costs: the comparisons, checkers, interactors, and a class that brig
// grade judges. It needs the images cpp and python, and skips itself without.
func (b *bench) grading(ctx context.Context) error {
	if b.cfg.submissions == 0 {
		return nil
	}

	store, err := rootfs.Open(filepath.Join(b.agent.Data, "images"))
	if err != nil {
		return err
	}

	cpp, err := store.Lookup("cpp")
	python, err2 := store.Lookup("python")
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, "grading is skipped: it needs the images cpp and python:", err)
		return nil
	}

	b.addLine("")
	return errors.Join(b.outputComparisons(), b.checkers(ctx), b.conversations(ctx, cpp), b.class(ctx, python))
}

// outputComparisons times those that need no program, on outputs of 16 MB that differ at their end.
func (b *bench) outputComparisons() error {
	const size = 16 << 20
	line := []byte("1234567 89012\n")
	expected := bytes.Repeat(line, size/len(line))
	got := slices.Concat(expected, []byte("1\n"))
	numbers := append([]byte("[0"), bytes.Repeat([]byte(",1234567"), size/8)...)
	slowest, slowestName := 0.0, api.Comparison("")
	for _, how := range api.CompareExact.Values() {
		c, want, have := api.Compare{How: how}, expected, got
		if how == api.CompareJSON {
			want, have = slices.Concat(numbers, []byte("]")), slices.Concat(numbers, []byte(",1]"))
		}

		var took []float64
		for range b.cfg.rounds {
			begun := time.Now()
			ok, _, err := judge.Accepts(c, want, have)
			if err != nil {
				return fmt.Errorf("%s: %w", how, err)
			}
			if ok {
				return fmt.Errorf("%s accepts output that differs", how)
			}
			took = append(took, time.Since(begun).Seconds())
		}

		if each := median(took) / float64(len(want)); each > slowest {
			slowest, slowestName = each, how
		}
	}

	b.atLeast(fmt.Sprintf("output that a built-in comparison reads per second, the slowest (%s)", slowestName),
		1e-6/slowest, 400, "MB")
	return nil
}

// checkers times a test of a small C++ program that a comparison judges, and the same with checkers.
func (b *bench) checkers(ctx context.Context) error {
	expected := api.Bytes("hello, world\n")
	plain := api.Run{Language: "cpp", Source: api.Bytes("#include <cstdio>\nint main() { puts(\"hello, world\"); }\n"),
		Tests: []api.Test{{ID: "1", Expected: &expected}}}
	testlib, python := plain, plain
	testlib.Check = &api.Check{Program: api.Program{Language: "cpp", Source: checkerSource}, Protocol: api.ProtocolTestlib}
	python.Check = &api.Check{Program: api.Program{Source: pythonCheckerSource}, Protocol: api.ProtocolPython}
	var rows [3]row
	for round := range b.cfg.rounds {
		fmt.Fprintf(os.Stderr, "checkers, round %d of %d\n", round+1, b.cfg.rounds)
		if err := b.each(ctx, []api.Run{plain, testlib, python}, rows[:]); err != nil {
			return err
		}
	}

	b.addLine("One test of a small C++ program, p50: %.2f ms with a comparison, %.2f ms with a testlib checker in "+
		"C++, %.2f ms with a checker in Python.",
		median(rows[0].p50)/1e3, median(rows[1].p50)/1e3, median(rows[2].p50)/1e3)
	b.atMost("time that a testlib checker adds to a test, p50", median(differences(rows[1].p50, rows[0].p50))/1e3, 4, "ms")
	b.atMost("time that a Python checker adds to a test, p50", median(differences(rows[2].p50, rows[0].p50))/1e3, 6, "ms")
	return nil
}

// each adds a sample of each run to its row. The first of them compiles and makes templates, and is
// not timed.
func (b *bench) each(ctx context.Context, runs []api.Run, rows []row) error {
	for i, r := range runs {
		if _, err := b.accepted(ctx, r); err != nil {
			return err
		}
		s, err := sandboxed(ctx, b.accepted, r, 1, b.slots, 5*b.cfg.hellos, 0)
		if err != nil {
			return err
		}
		rows[i].add(s)
	}
	return nil
}

// accepted executes a run, all of whose tests must be accepted.
func (b *bench) accepted(ctx context.Context, r api.Run) (api.Result, error) {
	res, err := b.agent.Client.Run(ctx, r)
	if err == nil && (res.Summary == nil || res.Summary.Accepted != len(r.Tests)) {
		err = fmt.Errorf("not all tests are accepted: verdict %s, %s, summary %+v, tests %+v", res.Verdict, res.Stderr,
			res.Summary, res.Tests)
	}
	return res, err
}

// conversations times a program that talks with an interactor: the shortest conversation, next to the
// program alone, and a long one, next to the same programs over plain pipes on one processor.
func (b *bench) conversations(ctx context.Context, image rootfs.Image) error {
	alone := api.Run{Language: "cpp", Source: talkSource, Tests: []api.Test{{ID: "1", Stdin: api.Bytes("0\n")}}}
	talks := alone
	talks.Interactor = &api.Interactor{Program: api.Program{Language: "cpp", Source: talkSource},
		Protocol: api.ProtocolKattis}
	talks.Tests = []api.Test{{ID: "1", Stdin: api.Bytes("1\n")}}
	long := talks
	long.Tests = []api.Test{{ID: "1", Stdin: api.Bytes(strconv.Itoa(talkLines))}}
	long.Limits = api.Limits{CPU: api.Duration(20 * time.Second), Wall: api.Duration(30 * time.Second)}

	h, err := b.bareProgram(ctx, image, api.Run{Language: "cpp", Source: talkSource, Stdin: api.Bytes("0\n")})
	if err != nil {
		return err
	}

	plain := h.bare.onOne()
	plain.argv = []string{h.bare.argv[0], "both", strconv.Itoa(talkLines)}
	var rows [2]row
	var piped, talked []float64 // seconds
	for round := range b.cfg.rounds {
		fmt.Fprintf(os.Stderr, "interactors, round %d of %d\n", round+1, b.cfg.rounds)
		if err := b.each(ctx, []api.Run{alone, talks}, rows[:]); err != nil {
			return err
		}

		s, err := plain.spawn(ctx, b.spawner, 1, 1, 0)
		if err != nil {
			return err
		}

		piped = append(piped, s.took[0].Seconds())
		if s, err = sandboxed(ctx, b.accepted, long, 1, b.slots, 1, 0); err != nil {
			return err
		}

		talked = append(talked, s.took[0].Seconds())
	}

	b.addLine("A program that says one line to its interactor: p50 %.2f ms, the program alone %.2f ms. %d lines in "+
		"turns: %.2f s, over plain pipes on one processor %.2f s.",
		median(rows[1].p50)/1e3, median(rows[0].p50)/1e3, talkLines, median(talked), median(piped))
	b.atMost("time that an interactor adds to a test, p50", median(differences(rows[1].p50, rows[0].p50))/1e3, 5, "ms")
	b.atMost(fmt.Sprintf("%d lines said in turns with an interactor, relative to plain pipes on one processor", talkLines),
		median(ratios(talked, piped)), 1.5, "x")
	return nil
}

// bareProgram compiles a program, for plain processes of it.
func (b *bench) bareProgram(ctx context.Context, image rootfs.Image, r api.Run) (*hello, error) {
	known, err := languages.Load("", nil)
	if err != nil {
		return nil, err
	}
	l, err := known.ByName(r.Language)
	if err != nil {
		return nil, err
	}
	h := &hello{lang: l, bare: bare{root: image.Path, box: filepath.Join(b.agent.Dir, "box-grading-"+r.Language)}, run: r}
	return h, b.unpack(ctx, h)
}

// class times brig grade with a class of Python programs, with templates and without, next to as many
// plain processes of the interpreter on the same processors.
func (b *bench) class(ctx context.Context, image rootfs.Image) (err error) {
	dir := filepath.Join(b.agent.Dir, "class")
	if err := b.writeClass(dir); err != nil {
		return err
	}

	h, err := b.bareProgram(ctx, image, api.Run{Language: "python", Source: sumSource})
	if err != nil {
		return err
	}

	without := filepath.Join(b.agent.Dir, "without-templates")
	if err := os.Mkdir(without, 0o711); err != nil {
		return err
	}

	// The second agent makes no templates. Both are there at the same time, so that each round measures
	// both under the same load.
	ordinary, err := startAgent(ctx, b.secondAgent(), without, "--template-memory", "none")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ordinary.Stop()) }()

	processes := b.cfg.submissions * testsOfAClass
	var plain, warm, cold []float64 // seconds
	for round := range b.cfg.rounds {
		fmt.Fprintf(os.Stderr, "a class, round %d of %d\n", round+1, b.cfg.rounds)
		s, err := h.bare.spawn(ctx, b.spawner, b.slots, processes/b.slots, 0)
		if err != nil {
			return err
		}

		plain = append(plain, s.wall.Seconds())
		for _, of := range []struct {
			agent *agent
			took  *[]float64
		}{{b.agent, &warm}, {ordinary, &cold}} {
			took, err := b.grade(ctx, of.agent, dir)
			if err != nil {
				return err
			}
			*of.took = append(*of.took, took.Seconds())
		}
	}

	b.addLine("`brig grade` with %d submissions in Python and %d tests: %.2f s, without templates %.2f s; %d plain "+
		"processes, %d at a time: %.2f s.",
		b.cfg.submissions, testsOfAClass, median(warm), median(cold), processes, b.slots, median(plain))
	b.atMost("a class in Python, relative to the plain processes on the same processors",
		median(ratios(warm, plain)), 0.5, "x")
	b.atMost("the same without templates", median(ratios(cold, plain)), 1.2, "x")
	return nil
}

// writeClass writes tests and submissions. No two submissions are the same.
func (b *bench) writeClass(dir string) error {
	tests, submissions := filepath.Join(dir, "tests"), filepath.Join(dir, "submissions")
	err := errors.Join(os.MkdirAll(tests, 0o755), os.MkdirAll(submissions, 0o755))
	for i := range testsOfAClass {
		err = errors.Join(err,
			os.WriteFile(filepath.Join(tests, fmt.Sprintf("%02d.in", i)), fmt.Appendf(nil, "%d %d\n", i, 2*i), 0o644),
			os.WriteFile(filepath.Join(tests, fmt.Sprintf("%02d.ans", i)), fmt.Appendf(nil, "%d\n", 3*i), 0o644))
	}

	for i := range b.cfg.submissions {
		err = errors.Join(err,
			os.WriteFile(filepath.Join(submissions, fmt.Sprintf("student%02d.py", i)),
				fmt.Appendf(nil, "# student %d\n%s", i, sumSource), 0o644))
	}

	return err
}

// grade runs brig grade on an agent and returns how long the command took. Everything must be accepted.
func (b *bench) grade(ctx context.Context, a *agent, dir string) (time.Duration, error) {
	c := exec.CommandContext(ctx, filepath.Join(b.cfg.own.Bin, "brig"), "grade", "--socket",
		filepath.Join(a.Dir, "brigd.sock"),
		"--quiet", "--json", filepath.Join(dir, "tests"), filepath.Join(dir, "submissions"))
	c.Stderr = os.Stderr
	begun := time.Now()
	out, err := c.Output()
	took := time.Since(begun)
	var table struct {
		Submissions []struct{ ID, Word string }
	}

	if err == nil {
		err = json.Unmarshal(out, &table)
	}
	if err != nil {
		return 0, fmt.Errorf("brig grade: %w", err)
	}

	for _, s := range table.Submissions {
		if s.Word != "AC" {
			err = errors.Join(err, fmt.Errorf("brig grade: %s ends with %s", s.ID, s.Word))
		}
	}

	if len(table.Submissions) != b.cfg.submissions {
		err = errors.Join(err, fmt.Errorf("brig grade: %d submissions; want %d", len(table.Submissions), b.cfg.submissions))
	}
	return took, err
}
