// Package catalog lists the dialects that the service can answer.
package catalog

import (
	"slices"

	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/agentsandbox"
	"github.com/brig-sandbox/brig/service/dialect/codejudge"
	"github.com/brig-sandbox/brig/service/dialect/e2b"
	"github.com/brig-sandbox/brig/service/dialect/gojudge"
	"github.com/brig-sandbox/brig/service/dialect/jobe"
	"github.com/brig-sandbox/brig/service/dialect/judge0"
	"github.com/brig-sandbox/brig/service/dialect/jupyter"
	"github.com/brig-sandbox/brig/service/dialect/kubernetes"
	"github.com/brig-sandbox/brig/service/dialect/librechat"
	"github.com/brig-sandbox/brig/service/dialect/piston"
	"github.com/brig-sandbox/brig/service/dialect/sandboxfusion"
)

var all = []dialect.Dialect{agentsandbox.Dialect, codejudge.Dialect, e2b.Dialect, gojudge.Dialect, jobe.Dialect, judge0.Dialect,
	jupyter.Dialect, kubernetes.Dialect, librechat.Dialect, piston.Dialect, sandboxfusion.Dialect}

// All returns all dialects, by name.
func All() []dialect.Dialect { return all }

// Names returns the names of all dialects.
func Names() (names []string) {
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names
}

// Find returns a dialect by its name.
func Find(name string) (dialect.Dialect, bool) {
	i := slices.IndexFunc(all, func(d dialect.Dialect) bool { return d.Name == name })
	if i < 0 {
		return dialect.Dialect{}, false
	}
	return all[i], true
}
