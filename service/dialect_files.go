package service

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/blobs"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
)

// files returns the kept files that a plan needs, and reports whether all are there. They join its runs.
func (h *dialectHandler) files(r *http.Request, plan dialect.Plan) (found []blobs.File, there bool, err error) {
	if len(plan.Needs) == 0 {
		return nil, true, nil
	}

	var ids []string
	for _, n := range plan.Needs {
		if n.Path == "" {
			ids = append(ids, n.ID)
		}
	}
	found, there = h.kept.Find(core.CallerOf(r.Context()), h.Name, ids)
	if there && len(ids) < len(plan.Needs) {
		if found, err = h.withHostFiles(r, plan.Needs, found); err != nil {
			return nil, false, err
		}
	}
	switch {
	case !there:
		return nil, false, nil
	case len(plan.Runs) == 0 && plan.Read == nil: // nothing else would notice that the agent has evicted one
		there, err = h.kept.Stored(r.Context(), found)
		return found, there, err
	}

	for i, n := range plan.Needs {
		switch {
		case n.Stdin:
			plan.Runs[n.Run].StdinBlob = found[i].Digest
		case n.Name != "" && plan.Read == nil:
			files := &plan.Runs[n.Run].Files
			if n.Interactor {
				files = &plan.Runs[n.Run].Interactor.Files
			}
			*files = append(*files, api.File{Name: n.Name, Blob: found[i].Digest, Executable: n.Executable})
		}
	}
	return found, true, nil
}

// lists has the dialect tell which files its client has kept.
func (h *dialectHandler) lists(r *http.Request, plan dialect.Plan) dialect.Response {
	var all []dialect.Kept
	for _, f := range h.kept.List(core.CallerOf(r.Context()), h.Name) {
		all = append(all, keptFile(f))
	}
	return plan.List(all)
}

func keptFile(f blobs.File) dialect.Kept {
	return dialect.Kept{ID: f.ID, Name: f.Name, Size: f.Size, Since: f.Since}
}

// read has the dialect tell the content of a kept file. Quota for it is reserved before it is in memory.
func (h *dialectHandler) read(r *http.Request, plan dialect.Plan, f blobs.File) (dialect.Response, error) {
	if !core.AgentResponseOf(r.Context()).KeepOutput(int(f.Size)) {
		return dialect.Response{}, core.NoQuotaError("")
	}
	content, err := h.kept.Read(r.Context(), f)
	switch {
	case api.HasCode(err, api.CodeNoBlob): // the agent evicts blobs that were unused for long
		return plan.Missing, nil
	case err != nil:
		return dialect.Response{}, err
	}
	return plan.Read(keptFile(f), content), nil
}

// keep keeps files, all or none.
func (h *dialectHandler) keep(r *http.Request, files []dialect.Keep) error {
	for i, f := range files {
		if err := h.keepOne(r, f); err != nil {
			h.forget(r, files[:i])
			return err
		}
	}
	return nil
}

func (h *dialectHandler) keepOne(r *http.Request, f dialect.Keep) error {
	if f.Blob == "" {
		return h.kept.Put(r, h.Name, f.ID, f.Name, f.Content)
	}
	return h.kept.PutBlob(core.CallerOf(r.Context()), h.Name,
		blobs.File{ID: f.ID, Name: f.Name, Digest: f.Blob, Size: int64(f.Size)})
}

// forget forgets files that were just kept.
func (h *dialectHandler) forget(r *http.Request, files []dialect.Keep) {
	for _, f := range files {
		h.kept.Forget(core.CallerOf(r.Context()), h.Name, f.ID)
	}
}
