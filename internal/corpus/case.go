// Package corpus holds the hostile programs that brig is tested with, and the expected outcome of
// each: for the tests, and for brig selftest on a user's own host.
package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Case is a hostile program and what must and must not result from it. cases/README.md describes
// the format.
type Case struct {
	ID       string              `json:"-"`
	Title    string              `json:"title"`
	Severity string              `json:"severity"`
	Layers   []string            `json:"layers"`
	Harm     string              `json:"harm"` // what it would do to a host that does not stop it; empty: nothing lasting
	Args     []string            `json:"args"`
	Profile  string              `json:"profile"`
	Limits   api.Limits          `json:"limits"`
	Verdicts []api.Verdict       `json:"verdicts"`
	Errno    map[string][]string `json:"errno"`
	Lines    int                 `json:"lines"`
	Stdout   []string            `json:"stdout"`
	Only     map[string][]string `json:"only"`
	Same     []string            `json:"same"`
	Absent   []string            `json:"absent"`
	Hit      string              `json:"hit"`
	WithinMS int64               `json:"within_ms"`
	Files    []string            `json:"files"`
	NoFiles  []string            `json:"no_files"`
	Control  Control             `json:"control"`
}

// A Control shows that the program can reach its goal where nothing, or one layer less, stops it. A
// case without a control proves nothing.
type Control struct {
	Reached []string  `json:"reached"`
	Stdout  []string  `json:"stdout"`
	Differs []string  `json:"differs"`
	Canary  string    `json:"canary"`
	Ambient []uintptr `json:"ambient"`
	Script  string    `json:"script"`
	Off     *LayerOff `json:"off"`
}

// A LayerOff is a run of the program by brig with one layer less, and its expected outcome.
type LayerOff struct {
	Log          bool                `json:"log"` // the filter lets every call through
	WritableRoot bool                `json:"writable_root"`
	Limits       api.Limits          `json:"limits"` // override the case's limits
	Verdicts     []api.Verdict       `json:"verdicts"`
	Errno        map[string][]string `json:"errno"`
	MemoryOver   api.Size            `json:"memory_over"`
}

const suffix = ".expect.json"

// Cases returns all cases, ordered by id. An unknown field in one is an error.
func Cases() ([]Case, error) {
	names, err := fs.Glob(built, "built/*"+suffix)
	if err != nil {
		return nil, err
	}

	var all []Case
	for _, name := range names { // Glob returns them sorted
		text, err := built.ReadFile(name)
		if err != nil {
			return nil, err
		}
		c := Case{ID: strings.TrimSuffix(strings.TrimPrefix(name, "built/"), suffix)}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, c)
	}

	return all, nil
}

// Wall is the wall time of a case that sets none. No case that sets none is about that time, so it is what a busy machine
// may need; it is also the ceiling of an agent by default.
const Wall = api.Duration(30 * time.Second)

// Limits returns the limits of a case that sets none.
func Limits() api.Limits {
	return api.Limits{Wall: Wall, Memory: 64 * api.MiB, Pids: 60, Output: api.MiB}
}

// Run returns the case as a run, with the canaries in its arguments.
func (c Case) Run(canaries *Canaries) api.Run {
	r := api.Run{Image: "tiny", Files: []api.File{Probe(c.ID)},
		Argv: append([]string{"./" + c.ID}, canaries.Expand(c.Args)...)}
	r.Profile, r.Limits = c.Profile, c.Limits.Over(Limits())
	return r
}
