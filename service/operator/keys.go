package operator

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
	"github.com/brig-sandbox/brig/service/queue"
)

// day is the time of which the runs of a key are counted.
const day = 24 * time.Hour

func (o *Operator) getKeys(w http.ResponseWriter, r *http.Request) error {
	if err := forAdmins(core.CallerOf(r.Context()), "keys are those of all callers"); err != nil {
		return err
	}

	counts, err := o.Config.History.Owners(r.Context(), time.Now().Add(-day))
	if err != nil {
		return err
	}
	shares := map[string]queue.Share{}
	for _, s := range o.Queue.Shares() {
		shares[s.Key] = s
	}

	page := api.Page[api.KeyUse]{Items: []api.KeyUse{}}
	if o.Config.Keys != nil {
		for _, k := range o.Config.Keys.List() {
			share := shares[k.Name]
			page.Items = append(page.Items, api.KeyUse{Name: k.Name, Limits: limitsOf(k), Running: share.Held,
				Waiting: share.Waiting + share.Background, Sessions: len(o.sessions(k.Name)), Runs: counts[k.Name].Runs,
				NotJudged: counts[k.Name].NotJudged, Seen: o.Activity.Seen(k.Name).UTC()})
		}
	}
	slices.SortFunc(page.Items, func(a, b api.KeyUse) int { return strings.Compare(a.Name, b.Name) })
	o.Reply(w, r, http.StatusOK, page)
	return nil
}

// limitsOf returns what a key may do. Its digest is no part of it: who has that could tell a guessed key
// (TestKeysTellNoSecret).
func limitsOf(k auth.Key) api.KeyQuota {
	return api.KeyQuota{
		Admin: k.Admin, Runs: k.Runs, Waiting: k.Waiting, Sessions: k.Sessions,
		Memory: int64(k.Memory), Blobs: int64(k.Blobs), Volumes: int64(k.Volumes),
		Problems: k.Problems, ProblemBytes: int64(k.ProblemBytes), Batches: k.Batches, BatchBytes: int64(k.BatchBytes),
		Weight: k.Weight, CPUs: k.CPUs, Mode: k.Mode, Network: k.Network,
		Packages: k.Packages, Profiles: k.Profiles.List(), ProfileLog: k.ProfileLog, OwnImage: k.OwnImage, HostFiles: k.HostFiles,
	}
}

func (o *Operator) getAudit(w http.ResponseWriter, r *http.Request) error {
	if err := forAdmins(core.CallerOf(r.Context()), "changes are those of all keys"); err != nil {
		return err
	}
	f, err := filterOf(r)
	if err != nil {
		return err
	}
	f.Scope = history.Scope{Everyone: true}
	if by := r.URL.Query().Get("by"); by != "" {
		f.Scope = history.Scope{Owner: by}
	}

	page, next, err := o.Config.History.Audit(r.Context(), f)
	if err != nil {
		return err
	}
	o.Reply(w, r, http.StatusOK, api.Page[api.AuditEntry]{Items: page, Next: next})
	return nil
}
