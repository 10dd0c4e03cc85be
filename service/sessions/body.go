package sessions

import (
	"net/http"

	"github.com/brig-sandbox/brig/service/core"
)

// readBodyAs reads and parses a body that is small, or whose copies are bounded otherwise: a cell waits with a copy that
// the number of cells bounds. So the memory of its bytes is given back.
func readBodyAs[T any](ss *Sessions, w http.ResponseWriter, r *http.Request, what string) (v T, err error) {
	raw, release, err := ss.ReadBody(w, r)
	if err != nil {
		return v, err
	}
	defer release()
	return core.ParseBodyAs[T](ss.Core, r.Context(), raw, what)
}
