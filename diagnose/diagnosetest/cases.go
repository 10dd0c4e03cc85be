// Package diagnosetest reads and writes the failed programs that diagnoses are
// tested by: testdata/LANGUAGE.txtar of package diagnose. Each has directories
// NAME with the program's files (those of main.* or Main.* are its source), the run's
// other fields (run.json), what a real run of it gave (result.json, stdout, stderr)
// and the diagnosis of that (want.json).
package diagnosetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/brig-sandbox/brig/api"
)

// A Case is one program that fails.
type Case struct {
	Language, Name string
	Run            api.Run
	Result         api.Result     // as far as it was kept
	Want           *api.Diagnosis // nil: not known yet
}

// Languages lists those that have cases in dir.
func Languages(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there are no cases in %s", dir)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".txtar"))
	}
	return names, err
}

// Read gives the cases of a language, in the order of their file.
func Read(dir, language string) ([]*Case, error) {
	a, err := txtar.ParseFile(filepath.Join(dir, language+".txtar"))
	if err != nil {
		return nil, err
	}
	var all []*Case
	byName := map[string]*Case{}
	for _, f := range a.Files {
		name, file := path.Split(f.Name)
		c := byName[name]
		if c == nil {
			c = &Case{Language: language, Name: strings.TrimSuffix(name, "/")}
			byName[name], all = c, append(all, c)
		}
		if err := c.add(file, f.Data); err != nil {
			return nil, fmt.Errorf("%s.txtar: %s: %w", language, f.Name, err)
		}
	}
	for _, c := range all {
		c.Run.Language, c.Run.Collect = language, api.Collect{None: true}
	}
	return all, nil
}

func (c *Case) add(file string, data []byte) error {
	switch stem, _, _ := strings.Cut(file, "."); {
	case file == "run.json":
		return json.Unmarshal(data, &c.Run)
	case file == "result.json":
		return json.Unmarshal(data, &c.Result)
	case file == "want.json":
		return json.Unmarshal(data, &c.Want)
	case file == "stdout":
		c.Result.Stdout = data
	case file == "stderr":
		c.Result.Stderr = data
	case stem == "main" || stem == "Main":
		c.Run.Source, c.Run.SourceName = data, file
	default:
		c.Run.Files = append(c.Run.Files, api.File{Name: file, Content: data})
	}
	return nil
}

// kept are the fields of a result that result.json has.
type kept struct {
	Verdict    api.Verdict `json:"verdict"`
	Stage      api.Stage   `json:"stage"`
	ExitCode   int         `json:"exit_code"`
	Signal     int         `json:"signal,omitempty"`
	SignalName string      `json:"signal_name,omitempty"`
	LimitsHit  []string    `json:"limits_hit"`
	Denial     *api.Denial `json:"denial,omitempty"`
	Usage      struct {
		CPU api.Figure `json:"cpu_ns"`
	} `json:"usage"`
	Limits api.Limits `json:"limits"`
}

// Write puts what was seen of some cases of a language into their file: results
// where the case has a new one, and wants.
func Write(dir, language string, cases []*Case) error {
	file := filepath.Join(dir, language+".txtar")
	a, err := txtar.ParseFile(file)
	if err != nil {
		return err
	}
	given := map[string][]txtar.File{}
	for _, f := range a.Files {
		name, base := path.Split(f.Name)
		switch base {
		case "result.json", "want.json", "stdout", "stderr":
		default:
			given[name] = append(given[name], f)
		}
	}
	a.Files = nil
	for _, c := range cases {
		a.Files = append(a.Files, given[c.Name+"/"]...)
		put := func(name string, data []byte) {
			if len(data) > 0 {
				a.Files = append(a.Files, txtar.File{Name: c.Name + "/" + name, Data: append(data, "\n"[:needed(data)]...)})
			}
		}
		r := c.Result
		if r.Verdict == "" {
			continue
		}
		k := kept{Verdict: r.Verdict, Stage: r.Stage, ExitCode: r.ExitCode, Signal: r.Signal, SignalName: r.SignalName, LimitsHit: r.LimitsHit, Denial: r.Denial, Limits: r.Limits}
		k.Usage.CPU = r.Usage.CPU
		put("result.json", encoded(k))
		if r.Stage == api.StageCompile {
			put("stdout", r.Stdout)
		}
		put("stderr", r.Stderr)
		put("want.json", encoded(c.Want))
	}
	return os.WriteFile(file, txtar.Format(a), 0o644)
}

// needed is 1 where the final newline of a txtar file has to be added.
func needed(data []byte) int {
	if data[len(data)-1] == '\n' {
		return 0
	}
	return 1
}

// encoded gives v as JSON; what is given always encodes.
func encoded(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}
