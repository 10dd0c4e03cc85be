// Package diagnosetest reads and writes the failed programs with which the diagnoses are tested:
// testdata/LANGUAGE.txtar of package diagnose. Each file has directories NAME with the program's
// files (main.* or Main.* is its source), the run's other fields (run.json), the result of a real
// run (result.json, stdout, stderr) and the expected diagnosis (want.json).
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
	Result         api.Result     // only the saved fields
	Want           *api.Diagnosis // nil: not known yet
}

// Languages lists the languages that have cases in dir.
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

// Read returns the cases of a language, in the order of their file.
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

// savedResult are the fields of a result that result.json contains.
type savedResult struct {
	Verdict    api.Verdict `json:"verdict"`
	Stage      api.Stage   `json:"stage"`
	ExitCode   int         `json:"exit_code"`
	Signal     int         `json:"signal,omitempty"`
	SignalName string      `json:"signal_name,omitempty"`
	LimitsHit  []string    `json:"limits_hit"`
	Denial     *api.Denial `json:"denial,omitempty"`
	Usage      struct {
		CPU api.Measurement `json:"cpu_ns"`
	} `json:"usage"`
	Limits api.Limits `json:"limits"`
}

// Write writes the results of the given cases, if any, and their wanted diagnoses to the file of a
// language. It keeps the program's files of these cases.
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
				a.Files = append(a.Files,
					txtar.File{Name: c.Name + "/" + name, Data: append(data, "\n"[:missingNewlines(data)]...)})
			}
		}

		r := c.Result
		if r.Verdict == "" {
			continue
		}

		k := savedResult{Verdict: r.Verdict, Stage: r.Stage, ExitCode: r.ExitCode, Signal: r.Signal, SignalName: r.SignalName,
			LimitsHit: r.LimitsHit, Denial: r.Denial, Limits: r.Limits}
		k.Usage.CPU = r.Usage.CPU
		put("result.json", mustEncode(k))
		if r.Stage == api.StageCompile {
			put("stdout", r.Stdout)
		}

		put("stderr", r.Stderr)
		put("want.json", mustEncode(c.Want))
	}

	return os.WriteFile(file, txtar.Format(a), 0o644)
}

// missingNewlines returns 1 if data lacks the final newline that a txtar file needs, else 0.
func missingNewlines(data []byte) int {
	if data[len(data)-1] == '\n' {
		return 0
	}
	return 1
}

// mustEncode returns v as JSON. It panics on an error, which the given values cannot cause.
func mustEncode(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}
