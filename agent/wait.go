package agent

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// waitOf returns how long a request wants to wait for a slot, or for room for a session: Prefer: wait=SECONDS (RFC 7240), at most
// api.MaxSlotWait; zero if it does not say, or nothing that is a number: a preference is never an error.
func waitOf(r *http.Request) time.Duration {
	for _, header := range r.Header["Prefer"] {
		for one := range strings.SplitSeq(header, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(one), "=")
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if strings.EqualFold(name, "wait") && err == nil {
				return min(time.Duration(seconds)*time.Second, api.MaxSlotWait)
			}
		}
	}
	return 0
}
