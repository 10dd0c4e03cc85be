package e2e

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/diagnose"
	"github.com/brig-sandbox/brig/diagnose/diagnosetest"
)

const diagnoseCases = "../diagnose/testdata"

// TestDiagnoses runs the failed programs that diagnoses are tested by, and holds
// what is kept of them against what they print today. -update keeps it anew. It
// takes the languages that TestLanguages takes.
func TestDiagnoses(t *testing.T) {
	b := bench{startAgent(t, "--slots", "2", "--max-memory", "4G", "--max-wall", "10m", "--max-cpu", "10m"), make(chan struct{}, 2)}
	for _, l := range builtinLanguages(t) {
		if !chosen(l.Name, tongues[l.Name].later) {
			continue
		}
		cases, err := diagnosetest.Read(diagnoseCases, l.Name)
		if err != nil {
			if chosen(l.Name, true) && tongues[l.Name].tools == nil { // a full variant is its plain one
				t.Error(err)
			}
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			images.load(t, b.agent, l.Image)
			if *update {
				t.Cleanup(func() {
					if err := diagnosetest.Write(diagnoseCases, l.Name, cases); err != nil {
						t.Error(err)
					}
				})
			}
			for _, c := range cases {
				b.test(t, c.Name, func(t *testing.T) {
					res := b.run(t, c.Run)
					got := diagnose.Of(l.Name, c.Run.SourceName, c.Run.Source, res)
					if *update {
						c.Result, c.Want = res, got
					}
					if got == nil || c.Want == nil || !alike(*got, *c.Want) {
						t.Errorf("verdict %s: %+v; want %+v\n%.2000s%.2000s", res.Verdict, got, c.Want, res.Stdout, res.Stderr)
					}
				})
			}
		})
	}
}

// alike leaves out what may differ from run to run: addresses in a message.
func alike(a, b api.Diagnosis) bool {
	a.Message, b.Message = "", ""
	return a == b
}
