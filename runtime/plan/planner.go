// Package plan decides everything about a run or a session that can be decided before the host is
// touched: its limits, environment, command, files, cell and policy. It changes nothing, and needs
// neither root nor a container library, so package bundle uses it too. Its errors are for the caller
// to fix.
package plan

import (
	"cmp"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/seccomp"
)

// A Planner has what a request is checked against and completed from.
type Planner struct {
	Images      *rootfs.Store
	Languages   *languages.Catalog
	Blobs       *cache.Cache               // inputs that runs name by digest; nil: none can
	Profiles    map[string]seccomp.Profile // the operator's own, offered to all callers in addition to the tiers
	ProfileLog  bool                       // callers other than root may ask for profile mode log
	OwnImage    bool                       // callers other than root may ask for sessions that own their image
	Mode        api.Mode                   // of runs that name none; empty: strict
	Ceiling     api.Limits                 // most a run may request
	Memory      api.Size                   // most reserved for runs and sessions together
	Slots       int                        // concurrent runs; zero: one
	Network     string                     // most that callers other than root may ask for, see api.Networks; empty: none
	Packages    bool                       // callers other than root may have packages installed
	SessionLife api.Duration               // longest life of a session
	CPUs        []int                      // processors of the agent

	TemplateDrivers  map[string]TemplateDriver // shared objects that make templates, by kind; empty: no run begins from one
	CompileTemplates bool                      // compile stages begin from templates, too
	NoTemplates      string                    // why the kernel can begin no run from one; empty: it can

	mu       sync.Mutex
	policies map[policyKey]*Policy // guarded by mu; made once
}

// modeFor is the mode of a run that asks for one, or for none.
func (pl *Planner) modeFor(asked api.Mode) api.Mode { return cmp.Or(asked, pl.Mode, api.Strict) }
