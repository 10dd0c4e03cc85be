package runs

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
)

// postAgain runs what is kept of the request of a run again, with the changes in the body. Whoever reads the history
// of all keys still runs nothing of another key's (TestRunAgain).
func (rs *Runs) postAgain(w http.ResponseWriter, r *http.Request) error {
	async, err := wantsAsync(r)
	if err != nil {
		return err
	}

	raw, release, err := rs.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer func() { release() }()

	id := r.PathValue("id")
	kept, err := rs.Config.History.Request(r.Context(), history.Scope{Owner: core.CallerOf(r.Context()).Name}, id)
	if err != nil {
		return err
	}
	ask, err := core.ParseBody(rs.Core, r.Context(), raw,
		func(raw []byte) (api.RunRequest, error) { return againOf(id, kept, raw) })
	if err != nil {
		return err
	}
	return rs.runAsked(w, r, ask, async, &release, len(raw))
}

// againOf is the request of a run with the fields of changes in place of its own. nil: nothing of it is kept.
func againOf(id string, kept *api.KeptRequest, changes []byte) (ask api.RunRequest, err error) {
	if _, err := decode.RunRequest(changes); err != nil { // also fields that come twice, which a map would hide
		return ask, err
	}
	own := map[string]json.RawMessage{}
	if err := json.Unmarshal(changes, &own); err != nil {
		return ask, api.Refuse(api.CodeBadRequest, "the changes are no JSON object: %w", err)
	}

	if kept == nil {
		return ask, api.Refuse(api.CodeConflict,
			"nothing of the request of run %.64s is kept: send it to POST /v1/runs (the service keeps requests unless it was "+
				"started with --keep-requests=false)", id)
	}
	missing := slices.DeleteFunc(slices.Clone(kept.Missing), func(name string) bool { _, has := own[name]; return has })
	switch {
	case kept.Settings == nil:
		return ask, api.Refuse(api.CodeConflict,
			"the settings of run %.64s are not kept, such as its limits: send the whole request to POST /v1/runs", id)
	case len(missing) > 0:
		return ask, api.Refuse(api.CodeConflict,
			"of the request of run %.64s these are not kept, or not whole: %s; send them in the body", id, strings.Join(missing, ", "))
	}

	text, err := json.Marshal(RequestOf(*kept))
	if err != nil {
		return ask, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &all); err != nil {
		return ask, err
	}
	maps.Copy(all, own)
	if text, err = json.Marshal(all); err != nil {
		return ask, err
	}
	return decode.RunRequest(text)
}

// RequestOf is the request that was kept, without what is missing. Its settings must be there.
func RequestOf(k api.KeptRequest) api.RunRequest {
	r := api.RunRequest{Problem: k.Problem, Run: *k.Settings}
	r.Language, r.Source, r.SourceName, r.Argv, r.Flags = k.Language, k.Source, k.SourceName, k.Argv, k.Flags
	r.Stdin, r.StdinBlob = k.Stdin, k.StdinBlob
	if r.Language != "" && r.Source == nil && len(r.Argv) == 0 {
		r.Source = api.Bytes{} // an empty program, which JSON left out
	}
	for _, f := range k.Files {
		if f.Blob != "" {
			r.Files = append(r.Files, api.File{Name: f.Name, Blob: f.Blob})
		}
	}
	return r
}
