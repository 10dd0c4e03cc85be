package service

import (
	"net/http"

	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
)

// tellStates takes the submissions of a plan, or finds those that it asks for, and sends what the dialect tells of
// them. The copy of their contents that it makes is reserved before.
func (h *dialectHandler) tellStates(w http.ResponseWriter, r *http.Request, plan dialect.Plan, free func()) error {
	var states []dialect.State
	var size int64
	var tell func([]dialect.State) dialect.Response
	if plan.Submit != nil {
		var err error
		if states, size, err = h.submissions.Submit(r, h.Name, plan.Submit); err != nil {
			return err
		}
		tell = plan.Submit.Tell
	} else {
		states, size = h.submissions.Recall(core.CallerOf(r.Context()), h.Name, plan.Recall.Tokens)
		tell = plan.Recall.Tell
	}

	free()
	release, ok := h.core.Responses.Reserve(r.Context(), core.CallerOf(r.Context()).Name, size)
	if !ok {
		return core.NoQuotaError("")
	}
	defer release()
	return h.send(w, r, plan, tell(states), "")
}
