package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// templatePrograms are timed with a template and without, with their targets relative to the bare
// interpreter.
var templatePrograms = []struct {
	name, language, source string
	maximum                float64 // of the time, one client
	minimum                float64 // of the rate, two clients; zero: no target
	tests                  float64 // per second, 50 per request; zero: not measured
	http                   float64 // ms through brig serve, one client; zero: not measured
	made                   float64 // ms until its template is there
}{
	{"python hello", "python", "print('hello, world')\n", 0.32, 2.8, 500, 4, 100},
	{"numpy", "python-full", "import numpy\nprint(numpy.arange(10).sum())\n", 0.1, 0, 0, 0, 1000},
	{"perl hello", "perl", "print qq(hello, world\n);\n", 1.4, 0, 0, 0, 1000},
	{"lua hello", "lua", "print('hello, world')\n", 1.7, 0, 0, 0, 1000},
	{"bash hello", "bash", "echo hello, world\n", 1.2, 0, 0, 0, 1000},
	{"php hello", "php", "<?php echo \"hello, world\\n\";\n", 0.42, 1.8, 0, 0, 1000},
	{"ruby hello", "ruby", "puts 'hello, world'\n", 0.08, 10, 0, 0, 1000},
	{"node hello", "javascript", "console.log('hello, world')\n", 0.55, 1.5, 0, 0, 1000},
	{"java hello", "java", "class Main { public static void main(String[] a) { System.out.println(\"hello, world\"); } }\n", 0.32, 4, 0, 0,
		1000},
	{"pandas", "python-full", "import pandas\nprint(pandas.DataFrame({'a': [1, 2]}).a.sum())\n", 0.07, 0, 0, 0, 1000},
}

// A templateProgram is one of these, with its rows: bare on one processor, in brig with the ordinary
// start, and from a template.
type templateProgram struct {
	hello
	warm             row
	bareTwo, warmTwo row
	overHTTP         row
	made             float64   // ms
	tests            []float64 // per second
	name             string
	maximum, minimum float64
	minTests         float64
	maxHTTP          float64
	maxMade          float64
}

// templates times programs that begin from a template, in turns with the same programs with the
// ordinary start and with the bare interpreter.
func (b *bench) templates(ctx context.Context) (err error) {
	if b.cfg.hellos == 0 {
		return nil
	}

	all, err := b.templatePrograms(ctx)
	if err != nil || len(all) == 0 {
		return err
	}

	s, err := b.serve("templates")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()

	overHTTP := s.client().Run
	for round := range b.cfg.rounds {
		fmt.Fprintf(os.Stderr, "templates, round %d of %d\n", round+1, b.cfg.rounds)

		for _, p := range all {
			cold := p.run
			cold.NoTemplate = true

			for _, m := range []struct {
				to      *row
				measure func() (sample, error)
			}{
				{&p.one, func() (sample, error) { return p.bare.onOne().spawn(ctx, b.spawner, 1, b.cfg.hellos, 0) }},
				{&p.inBrig, func() (sample, error) { return sandboxed(ctx, b.agent.Client.Run, cold, 1, b.slots, b.cfg.hellos, 0) }},
				{&p.warm, func() (sample, error) { return sandboxed(ctx, b.agent.Client.Run, p.run, 1, b.slots, b.cfg.hellos, 0) }},
				{&p.bareTwo, func() (sample, error) { return p.bare.spawn(ctx, b.spawner, 2, b.cfg.hellos, 0) }},
				{&p.warmTwo, func() (sample, error) {
					return sandboxed(ctx, b.agent.Client.Run, p.run, 2, b.slots, 5*b.cfg.hellos, 0)
				}},
			} {
				s, err := m.measure()
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				m.to.add(s)
			}

			if p.maxHTTP > 0 {
				s, err := sandboxed(ctx, overHTTP, p.run, 1, b.slots, b.cfg.hellos, 0)
				if err != nil {
					return fmt.Errorf("%s over HTTP: %w", p.name, err)
				}
				p.overHTTP.add(s)
			}
			if p.minTests > 0 {
				rate, err := b.rate(ctx, &p.hello)
				if err != nil {
					return fmt.Errorf("tests of %s: %w", p.name, err)
				}
				p.tests = append(p.tests, rate)
			}
		}
	}

	b.addLine("")
	b.addLine("From a template of the started interpreter, in turns with the ordinary start and the bare interpreter:")
	b.addLine("")
	b.addLine("| program | bare on one processor, p50 ms | ordinary start in brig | from a template | relative to " +
		"bare | bare/s, 2 at a time | from a template/s, 2 clients | relative to bare |")
	b.addLine("|---|---|---|---|---|---|---|---|")

	for _, p := range all {
		time, rate := median(ratios(p.warm.p50, p.one.p50)), median(ratios(p.warmTwo.rates, p.bareTwo.rates))
		b.addLine("| %s | %.2f | %.2f | %.2f | %.2fx | %.0f | %.0f | %.1fx |", p.name, median(p.one.p50)/1e3,
			median(p.inBrig.p50)/1e3, median(p.warm.p50)/1e3,
			time, median(p.bareTwo.rates), median(p.warmTwo.rates), rate)
		b.atMost(p.name+" from a template, p50, relative to the bare interpreter", time, p.maximum, "x")
		b.atMost(p.name+", time until its template is made", p.made, p.maxMade, "ms")
		if p.maxHTTP > 0 {
			b.atMost(p.name+" from a template, through brig serve, p50", median(p.overHTTP.p50)/1e3, p.maxHTTP, "ms")
		}
		if p.minTests > 0 {
			b.atLeast(p.name+" from a template, tests per second, 50 per request", median(p.tests), p.minTests, "")
		}
		if p.minimum > 0 {
			b.atLeast(p.name+" from a template, rate with 2 clients, relative to the bare interpreter", rate, p.minimum, "x")
		}
	}

	// The agent is asked at the end: now it has the templates of all programs.
	h, err := b.agent.Client.Health(ctx)
	if err != nil {
		return err
	}

	b.atMost(fmt.Sprintf("memory of all %d templates", h.Templates.Kept), float64(h.Templates.Bytes)/(1<<20), 512, "MiB")
	return nil
}

// templatePrograms finds the programs whose image is stored, and runs each: then its template is made,
// and the bare interpreter has its source. The time until the template is made is what its first run
// takes longer than the next one.
func (b *bench) templatePrograms(ctx context.Context) (out []*templateProgram, err error) {
	known, err := languages.Load("", nil)
	if err != nil {
		return nil, err
	}

	store, err := rootfs.Open(filepath.Join(b.agent.Data, "images"))
	if err != nil {
		return nil, err
	}

	for i, t := range templatePrograms {
		if len(b.cfg.languages) > 0 && !slices.Contains(b.cfg.languages, t.language) {
			continue
		}

		l, err := known.ByName(t.language)
		if err != nil {
			return nil, err
		}

		img, err := store.Lookup(l.Image)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s from a template is skipped: image %s is not stored\n", t.name, l.Image)
			continue
		}

		p := &templateProgram{name: t.name, maximum: t.maximum, minimum: t.minimum, minTests: t.tests,
			maxHTTP: t.http, maxMade: t.made}
		p.lang, p.bare = l, bare{root: img.Path, box: filepath.Join(b.agent.Dir, fmt.Sprintf("box-template-%d", i))}
		p.run = api.Run{Language: t.language, Source: api.Bytes(t.source)}
		res, err := b.makeTemplate(ctx, p)

		// A run without a template also succeeds. Its ordinary start must not be measured as one from a
		// template.
		if err == nil && !res.Host.Template {
			err = fmt.Errorf("it does not begin from a template: %s", res.Host.Cold)
		}
		if err == nil {
			err = b.unpack(ctx, &p.hello)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}

		out = append(out, p)
	}

	return out, nil
}

// makeTemplate notes how much longer the first run from a template takes than the next. The cell of the
// image is there before that, and the program is compiled.
func (b *bench) makeTemplate(ctx context.Context, p *templateProgram) (res api.Result, err error) {
	cold := p.run
	cold.NoTemplate = true
	var took [3]time.Duration
	for i, r := range []api.Run{cold, p.run, p.run} {
		begun := time.Now()
		if res, err = b.agent.Client.Run(ctx, r); err != nil {
			return res, err
		}
		took[i] = time.Since(begun)
	}
	p.made = float64(took[1]-took[2]) / 1e6
	return res, nil
}
