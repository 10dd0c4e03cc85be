package runs

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A preference is what a client would like, in the header Prefer (RFC 7240).
type preference struct {
	async   bool          // respond-async: it does not wait for the result
	wait    time.Duration // wait=SECONDS: it waits no longer than that for a slot
	hasWait bool
}

// preferenceOf reads the headers Prefer. Of preferences with the same name only the first counts. What is unknown or
// wrong is passed over: a preference is never an error.
func preferenceOf(headers []string) (p preference) {
	seen := map[string]bool{}
	for _, one := range splitOutsideQuotes(strings.Join(headers, ","), ',') {
		named := splitOutsideQuotes(one, ';')[0] // the rest are parameters, and those of ours have none
		name, value, _ := strings.Cut(named, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if seen[name] {
			continue
		}

		seen[name] = true
		value = unquoted(strings.TrimSpace(value))
		switch name {
		case "respond-async":
			p.async = value == ""
		case "wait":
			if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
				p.wait, p.hasWait = time.Duration(seconds)*time.Second, true
			}
		}
	}
	return p
}

// splitOutsideQuotes splits a header at a separator, but not inside of quoted strings.
func splitOutsideQuotes(s string, sep byte) (parts []string) {
	begin, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			parts, begin = append(parts, s[begin:i]), i+1
		}
	}
	return append(parts, s[begin:])
}

// unquoted returns the value of a quoted string, or of a token as it is.
func unquoted(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}

	var b strings.Builder
	for s = s[1 : len(s)-1]; s != ""; s = s[1:] {
		if s[0] == '\\' && len(s) > 1 {
			s = s[1:]
		}
		b.WriteByte(s[0])
	}
	return b.String()
}

// minSlotWait is the wait for a slot of a client that wants none.
const minSlotWait = time.Millisecond

// applyWait bounds the wait for a slot by what the client prefers, and says so in the answer. The service waits no
// longer than it does for others.
func (rs *Runs) applyWait(w http.ResponseWriter, r *http.Request, o *Request) {
	p := preferenceOf(r.Header["Prefer"])
	if !p.hasWait {
		return
	}

	o.maxWait = max(p.wait, minSlotWait)
	longest := (rs.Config.Wait + time.Second - 1).Truncate(time.Second)
	w.Header().Add("Preference-Applied", "wait="+strconv.FormatInt(int64(min(p.wait, longest)/time.Second), 10))
}

// wantsAsync reports whether the caller does not wait for the run: ?wait=false, or the header
// Prefer: respond-async (RFC 7240).
func wantsAsync(r *http.Request) (bool, error) {
	if v := r.URL.Query().Get("wait"); v != "" {
		wait, err := strconv.ParseBool(v)
		if err != nil {
			return false, api.Refuse(api.CodeBadRequest, "wait=%.20q: write true or false", v)
		}
		return !wait, nil
	}
	return preferenceOf(r.Header["Prefer"]).async, nil
}
