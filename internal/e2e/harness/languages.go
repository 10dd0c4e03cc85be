package harness

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// LanguagePrograms is the folder with the programs of each language.
const LanguagePrograms = "../../../testdata/languages"

// Chosen reports whether this test run tests a language: $BRIG_TEST_LANGUAGES names them, or all; if it is empty, later
// languages are left out.
func Chosen(language string, later bool) bool {
	switch asked := os.Getenv("BRIG_TEST_LANGUAGES"); asked {
	case "":
		return !later
	case "all":
		return true
	default:
		return slices.Contains(strings.Split(asked, ","), language)
	}
}

// A Bench is an agent with as many concurrent runs as it has slots.
type Bench struct {
	*Agent
	Slots chan struct{}
}

// Test does one thing in parallel with others.
func (b Bench) Test(t *testing.T, name string, do func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		b.Slots <- struct{}{}
		defer func() { <-b.Slots }()
		do(t)
	})
}

// BuiltinLanguages are the manifests that come with brig.
func BuiltinLanguages(t testing.TB) []languages.Manifest {
	t.Helper()
	all, err := languages.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	return all.All()
}

// WantOrdinaryStart demands that a run began without a template, because of a rule.
func WantOrdinaryStart(t *testing.T, res api.Result, rule string) {
	t.Helper()
	if res.Host.Template || !strings.Contains(res.Host.Cold, rule) {
		t.Errorf("%+v; want the ordinary start because of %q", res.Host, rule)
	}
}
