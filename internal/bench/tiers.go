package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// tierPrograms are the programs that are timed under two tiers. All are one process, which strict
// demands: one that only starts, one that computes with its library, one with a thread, and one that
// reads and writes files, whose every call the filter sees.
var tierPrograms = []string{"hello", "library", "thread", "records"}

// A tierPair is one program under its language's own tier and under strict.
type tierPair struct {
	name        string
	own, strict api.Run
	inOwn       row
	inStrict    row
}

// tiers times the programs of C and C++ under the tier of the language and under strict, which
// allows less and whose filter is shorter. The two take turns, and change places in each round,
// so that drift affects both.
func (b *bench) tiers(ctx context.Context, hellos []*hello) error {
	var pairs []*tierPair
	for _, h := range hellos {
		if h.lang.Name != "c" && h.lang.Name != "cpp" {
			continue
		}
		for _, name := range tierPrograms {
			p, err := b.tierPair(ctx, h, name)
			if err != nil {
				return err
			}
			if p != nil {
				pairs = append(pairs, p)
			}
		}
	}

	if len(pairs) == 0 {
		return nil
	}

	for round := range b.cfg.rounds {
		fmt.Fprintf(os.Stderr, "tiers, round %d of %d\n", round+1, b.cfg.rounds)

		for _, p := range pairs {
			turns := []struct {
				run api.Run
				row *row
			}{{p.own, &p.inOwn}, {p.strict, &p.inStrict}}
			for i := range turns {
				t := turns[(i+round)%2]
				s, err := sandboxed(ctx, b.agent.Client.Run, t.run, 1, b.slots, b.cfg.hellos, 0)
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				t.row.add(s)
			}
		}
	}

	for _, line := range tierTable(pairs) {
		b.addLine("%s", line)
	}
	return nil
}

// tierTable returns the report's lines on the programs, each with the ratio of the two tiers within
// the rounds.
func tierTable(pairs []*tierPair) []string {
	lines := []string{"", "C and C++ under the tier of the language and under the tier `strict`, in turns:", "",
		"| program | tier | p50 ms | p50 ms under strict | strict relative to that tier |", "|---|---|---|---|---|"}
	for _, p := range pairs {
		lines = append(lines, fmt.Sprintf("| %s | %s | %.2f | %.2f | %.2fx |", p.name, p.own.Profile,
			median(p.inOwn.p50)/1e3, median(p.inStrict.p50)/1e3, median(ratios(p.inStrict.p50, p.inOwn.p50))))
	}
	return lines
}

// tierPair returns a program of a language, or nil if the language has none of this name. It runs
// it twice under each tier: then it is compiled, and cells of both filters are warm.
func (b *bench) tierPair(ctx context.Context, h *hello, name string) (*tierPair, error) {
	found, err := filepath.Glob(filepath.Join(programs, h.lang.Name, name+".*"))
	if err != nil || len(found) != 1 {
		return nil, err
	}

	source, err := os.ReadFile(found[0])
	if err != nil {
		return nil, err
	}

	r := api.Run{Language: h.lang.Name, Source: source, Collect: api.Collect{None: true}}
	p := &tierPair{name: strings.TrimPrefix(found[0], programs+string(filepath.Separator)), own: r, strict: r}
	p.own.Profile, p.strict.Profile = h.lang.Tier, "strict"
	for _, r := range []api.Run{p.own, p.strict} {
		if _, err := sandboxed(ctx, b.agent.Client.Run, r, 1, b.slots, 2, 0); err != nil {
			return nil, fmt.Errorf("%s under %s: %w", p.name, r.Profile, err)
		}
	}

	return p, nil
}
