package languages

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/judge/diagnose/diagnosetest"
)

const diagnoseCases = "../../../judge/diagnose/testdata"

// TestDiagnoses runs the failing programs of the diagnosis tests and compares their recorded output
// with today's. -update records it again. It runs for the languages that TestLanguages runs for.
func TestDiagnoses(t *testing.T) {
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-memory", "4G", "--max-wall", "10m",
		"--max-cpu", "10m"), Slots: make(chan struct{}, 2)}
	for _, l := range harness.BuiltinLanguages(t) {
		if !harness.Chosen(l.Name, harness.LanguageTests[l.Name].OnlyAll) {
			continue
		}

		cases, err := diagnosetest.Read(diagnoseCases, l.Name)
		if err != nil {
			if harness.Chosen(l.Name, true) && harness.LanguageTests[l.Name].Tools == nil { // a full variant has the cases of its plain one
				t.Error(err)
			}
			continue
		}

		t.Run(l.Name, func(t *testing.T) {
			harness.Images.Load(t, b.Agent, l.Image)
			if *harness.Update {
				t.Cleanup(func() {
					if err := diagnosetest.Write(diagnoseCases, l.Name, cases); err != nil {
						t.Error(err)
					}
				})
			}

			for n, c := range cases {
				if harness.LeftOut(n+len(l.Name), 18) && !*harness.Update { // judge/diagnose has them all, with what the compilers wrote
					continue
				}
				b.Test(t, c.Name, func(t *testing.T) {
					res := b.MustRun(t, c.Run)
					got := diagnose.Explain(l.Name, c.Run.SourceName, c.Run.Source, res)
					if *harness.Update {
						c.Result, c.Want = res, got
					}
					if got == nil || c.Want == nil || !sameDiagnosis(*got, *c.Want) {
						t.Errorf("verdict %s: %+v; want %+v\n%.2000s%.2000s", res.Verdict, got, c.Want, res.Stdout, res.Stderr)
					}
				})
			}
		})
	}
}

// sameDiagnosis compares without what may differ from run to run: addresses in a message.
func sameDiagnosis(a, b api.Diagnosis) bool {
	a.Message, b.Message = "", ""
	return a == b
}
