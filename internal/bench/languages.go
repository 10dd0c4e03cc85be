package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// A hello is one language's smallest program, run in brig and bare.
type hello struct {
	lang     languages.Manifest
	bare     bare
	run      api.Run
	all, one row // bare, on all processors and on one
	inBrig   row // in brig
}

// languages times hello in each language, compared with the bare command in the same
// image, and then the benefit of compiling only once.
func (b *bench) languages(ctx context.Context) error {
	if b.cfg.hellos == 0 {
		return nil
	}

	hellos, err := b.hellos(ctx)
	if err != nil {
		return err
	}

	for round := range b.cfg.rounds {
		fmt.Fprintf(os.Stderr, "languages, round %d of %d\n", round+1, b.cfg.rounds)

		for _, h := range hellos {
			// A run gets one processor, and a bare command all of them. Only on one processor are both the
			// same work.
			for _, of := range []struct {
				processors *row
				bare       bare
			}{{&h.all, h.bare}, {&h.one, h.bare.onOne()}} {
				s, err := of.bare.spawn(ctx, b.spawner, 1, b.cfg.hellos, 0)
				if err != nil {
					return fmt.Errorf("%s, bare: %w", h.lang.Name, err)
				}
				of.processors.add(s)
			}

			its, err := sandboxed(ctx, b.agent.Client.Run, h.run, 1, b.slots, b.cfg.hellos, 0)
			if err != nil {
				return fmt.Errorf("%s: %w", h.lang.Name, err)
			}

			h.inBrig.add(its)
		}
	}

	b.addLine("")
	b.addLine("| hello in | bare p50 ms | bare on one processor | brig p50 ms | added to bare | added to bare on one processor |")
	b.addLine("|---|---|---|---|---|---|")
	var maxAll, maxOne float64
	for _, h := range hellos {
		overAll, overOne := median(differences(h.inBrig.p50, h.all.p50))/1e3, median(differences(h.inBrig.p50, h.one.p50))/1e3
		maxAll, maxOne = max(maxAll, overAll), max(maxOne, overOne)
		b.addLine("| %s | %.2f | %.2f | %.2f | %.2f ms | %.2f ms |", h.lang.Name,
			median(h.all.p50)/1e3, median(h.one.p50)/1e3, median(h.inBrig.p50)/1e3, overAll, overOne)
	}

	if len(hellos) > 0 {
		b.atMost("time that brig adds to the bare hello, worst language, p50", maxAll, 2, "ms")
		b.atMost("time that brig adds to the bare hello on one processor, which is what a run gets, worst language, p50",
			maxOne, 2, "ms")
	}
	if err := b.templates(ctx); err != nil {
		return err
	}
	if err := b.tiers(ctx, hellos); err != nil {
		return err
	}

	for _, h := range hellos {
		switch h.lang.Name {
		case "cpp":
			err = errors.Join(b.compiles(ctx, h), b.tests(ctx, h))
		case "python":
			err = b.compareTests(ctx, h)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", h.lang.Name, err)
		}
	}

	return nil
}

// programs is where the languages' test programs are.
const programs = "testdata/languages"

// hellos finds the languages with a stored image, and compiles each hello once.
func (b *bench) hellos(ctx context.Context) ([]*hello, error) {
	all, err := languages.Load("", nil)
	if err != nil {
		return nil, err
	}

	store, err := rootfs.Open(filepath.Join(b.agent.Data, "images"))
	if err != nil {
		return nil, err
	}

	var out []*hello
	for _, l := range all.All() {
		if len(b.cfg.languages) > 0 && !slices.Contains(b.cfg.languages, l.Name) {
			continue
		}

		img, err := store.Lookup(l.Image)
		found, _ := filepath.Glob(filepath.Join(programs, l.Name, "hello.*"))
		if err != nil || len(found) != 1 {
			fmt.Fprintf(os.Stderr, "%s is skipped: its image is not stored, or it has no hello\n", l.Name)
			continue
		}

		h := &hello{lang: l, bare: bare{root: img.Path, box: filepath.Join(b.agent.Dir, "box-"+l.Name)}}
		source, err := os.ReadFile(found[0])
		if err != nil {
			return nil, err
		}

		h.run = api.Run{Language: l.Name, Source: source, NoTemplate: true} // templates have a table of their own
		if err := b.unpack(ctx, h); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}

		out = append(out, h)
	}

	return out, nil
}

// unpack runs hello once and copies its files in /box to a directory for the bare command.
func (b *bench) unpack(ctx context.Context, h *hello) error {
	r := h.run
	r.Collect = api.Collect{Globs: []string{"*", "*/*", "*/*/*"}, Files: api.CollectFilesMax, Bytes: api.CollectBytesMax}
	res, err := b.agent.Client.Run(ctx, r)
	if err != nil {
		return err
	}
	if res.Verdict != api.OK {
		return fmt.Errorf("hello ends with %s: %s%s", res.Verdict, res.Stdout, res.Stderr)
	}

	for _, s := range res.Skipped {
		if !slices.Contains(r.Collect.Globs, s.Name) { // a glob that no file matches is listed too
			return fmt.Errorf("%s is not collected: %s", s.Name, s.Reason)
		}
	}

	for _, f := range res.Files {
		path := filepath.Join(h.bare.box, f.Name)
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Content, mode)); err != nil {
			return err
		}
	}

	// The plain command has the stack of this shell: V8 aborts if its flag names a larger one.
	var stack unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_STACK, &stack); err != nil {
		return err
	}

	h.bare.argv = languages.Placeholders{Source: h.lang.SourceFile, Memory: res.Limits.Memory,
		Stack: api.Size(stack.Cur)}.Expand(h.lang.Run, nil)
	return nil
}

// compiles times a C++ program that includes everything, compared with the plain compiler
// with the same flags, and then the same program again, cached.
func (b *bench) compiles(ctx context.Context, h *hello) error {
	const text = "#include <bits/stdc++.h>\nint main() { std::cout << \"hello, world\\n\"; }\n"
	var cold, cached, bare []float64
	for i := range max(b.cfg.rounds, 3) {
		r := h.run
		r.Source = fmt.Appendf(nil, "%s// %d %d\n", text, i, time.Now().UnixNano())
		begun := time.Now()
		res, err := b.agent.Client.Run(ctx, r)
		if err != nil {
			return err
		}
		if res.Verdict != api.OK || res.Compile == nil || res.Compile.Cached {
			return fmt.Errorf("it ends with %s, compile stage %+v: %s", res.Verdict, res.Compile, res.Stderr)
		}

		ran := time.Duration(res.Timing.SetUp + res.Timing.Wall + res.Timing.Finish)
		cold = append(cold, float64(time.Since(begun)-ran)/1e6)

		begun = time.Now()
		if res, err = b.agent.Client.Run(ctx, r); err != nil {
			return err
		}
		if !res.Compile.Cached {
			return errors.New("the second run compiled again instead of using the cache")
		}

		cached = append(cached, float64(time.Since(begun)-time.Duration(res.Timing.Wall+res.Timing.Finish))/1e6)

		if err := os.WriteFile(filepath.Join(h.bare.box, "plain.cpp"), r.Source, 0o644); err != nil {
			return err
		}

		// An include before it keeps the compiler from using the precompiled header.
		gxx := h.bare
		gxx.argv = append(append([]string{"g++"}, h.lang.DefaultFlags...), "-include", "stddef.h", "-o", "plain", "plain.cpp")
		s, err := gxx.spawn(ctx, b.spawner, 1, 1, 0)
		if err != nil {
			return err
		}

		bare = append(bare, float64(s.took[0])/1e6)
	}

	b.addLine("")
	b.addLine("C++ hello with bits/stdc++.h: plain g++ %.0f ms, brig %.0f ms, cached %.2f ms until its start.",
		median(bare), median(cold), median(cached))
	b.atMost("compilation of C++ hello with bits/stdc++.h, relative to plain g++ without the precompiled header",
		median(ratios(cold, bare)), 0.33, "x")
	b.atMost("the same program again, cached, from request to start", median(cached), 5, "ms")
	return nil
}

// fiftyTests returns a run of hello with fifty tests.
func fiftyTests(h *hello) api.Run {
	r := h.run
	want := api.Bytes("hello, world\n")
	for i := range 50 {
		r.Tests = append(r.Tests, api.Test{ID: fmt.Sprint(i), Expected: &want})
	}
	return r
}

// rate returns how many tests per second the agent executes.
func (b *bench) rate(ctx context.Context, h *hello) (float64, error) {
	r := fiftyTests(h)
	const times = 6
	begun := time.Now()
	for range times {
		res, err := b.agent.Client.Run(ctx, r)
		if err != nil {
			return 0, err
		}
		if res.Summary == nil || res.Summary.Accepted != len(r.Tests) {
			return 0, fmt.Errorf("summary %+v", res.Summary)
		}
	}

	return float64(times*len(r.Tests)) / time.Since(begun).Seconds(), nil
}

func (b *bench) tests(ctx context.Context, h *hello) error {
	var rates []float64
	for range b.cfg.rounds {
		rate, err := b.rate(ctx, h)
		if err != nil {
			return err
		}
		rates = append(rates, rate)
	}
	b.atLeast("C++ tests per second, 50 per request", median(rates), 1000, "")
	return nil
}

// compareTests compares the rate with bare spawns of the same program, with as many
// concurrent processes as there are slots.
func (b *bench) compareTests(ctx context.Context, h *hello) error {
	var ratio []float64
	for range b.cfg.rounds {
		bare, err := h.bare.spawn(ctx, b.spawner, b.slots, 100, 0)
		if err != nil {
			return err
		}
		rate, err := b.rate(ctx, h)
		if err != nil {
			return err
		}
		ratio = append(ratio, 100*rate/bare.rate())
	}

	b.atLeast("Python tests per second, relative to bare spawns", median(ratio), 85, "%")
	return nil
}
