package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testagent"
)

// templates compares the start of an interpreter with a template of it. A program whose cpu limit is
// between the two would get another verdict with each. So a run waits until its template is made: the
// first runs of an agent, which has no template yet, must get the verdict of the later ones.
func (t *tool) templates(ctx context.Context) (err error) {
	languages, err := t.agent.Client.Languages(ctx)
	if err != nil {
		return err
	}

	dir, err := os.MkdirTemp(t.dir, "second-")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o711); err != nil { // cells pass through it
		return err
	}

	second, err := testagent.Start(ctx, t.own, dir, "--image-memory", "8G")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.Stop()) }()

	for _, l := range languages {
		if !l.Stored {
			continue
		}
		if err := t.templateOf(ctx, l, second); err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
	}

	return nil
}

// startUse is what the runs of a program used, as medians.
type startUse struct{ cpu, memory float64 } // ns, bytes

func (t *tool) templateOf(ctx context.Context, l api.Language, second *testagent.Agent) error {
	const MiB = 1 << 20
	found, err := filepath.Glob(filepath.Join("testdata", "languages",
		strings.TrimSuffix(l.Name, "-full"), "hello.*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%d programs named hello: %w", len(found), err)
	}

	source, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}

	r := api.Run{Language: l.Name, Source: source, Collect: api.Collect{None: true}}
	res, err := t.run(ctx, r)
	if err != nil || !res.Host.Template {
		return err // no template of this language
	}

	warm, err := t.startUse(ctx, r)
	if err != nil {
		return err
	}

	ordinary := r
	ordinary.NoTemplate = true
	cold, err := t.startUse(ctx, ordinary)
	if err != nil {
		return err
	}

	t.report.row(fmt.Sprintf("%s, hello from a template and with the ordinary start", l.Name), "-",
		fmt.Sprintf("processor time %.1f and %.1f ms, memory %.1f and %.1f MiB", warm.cpu/1e6, cold.cpu/1e6, warm.memory/MiB,
			cold.memory/MiB), true)

	between := func(r api.Run) api.Run {
		return limited(r, api.Limits{CPU: api.Duration((warm.cpu + cold.cpu) / 2)})
	}
	row := l.Name + ", hello with a cpu limit halfway between these two, the first runs of an agent"
	const controls = 10
	within, _, err := t.flips(ctx, between(ordinary), api.CPULimit, controls)
	if err != nil {
		return err
	}
	if within > controls/5 { // then the verdict would not show which start a run had
		t.report.row(row, "-",
			fmt.Sprintf("not tried: %d of %d ordinary starts stay within this limit", within, controls), true)
		return nil
	}

	exceed, _, err := t.flips(ctx, between(r), api.OK, controls)
	if err != nil {
		return err
	}
	if exceed > 0 { // nor would it if the template is there
		t.report.row(row, "-",
			fmt.Sprintf("not tried: %d of %d runs from a template that is there exceed this limit", exceed, controls), true)
		return nil
	}

	fresh := *t
	fresh.agent = second // its first runs of this language
	flips, n, err := fresh.flips(ctx, between(r), api.OK, 40)
	if err != nil {
		return err
	}

	t.report.row(row, "no verdict flips", fmt.Sprintf("%d of %d not ok", flips, n), flips == 0)
	return nil
}

func (t *tool) startUse(ctx context.Context, r api.Run) (startUse, error) {
	var cpu, memory []int64
	for range 11 {
		res, err := t.run(ctx, r)
		if err != nil {
			return startUse{}, err
		}
		if res.Verdict != api.OK || res.Host.Template == r.NoTemplate {
			return startUse{}, fmt.Errorf("verdict %s, from a template: %v, %s", res.Verdict, res.Host.Template, res.Host.Cold)
		}
		cpu, memory = append(cpu, *res.Usage.CPU.Value), append(memory, *res.Usage.Memory.Value)
	}
	return startUse{cpu: median(cpu), memory: median(memory)}, nil
}
