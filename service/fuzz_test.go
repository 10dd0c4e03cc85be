package service

import (
	"errors"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/history"
)

// The query of a listing is refused with the name of the parameter, or has one meaning: after it is
// written out and parsed again it is the same.
func FuzzFilter(f *testing.F) {
	for _, query := range []string{
		"", "verdict=ok,failed&verdict=nonzero,,ok&limit=10", "since=2026-01-02T03:04:05Z&until=2026-01-02T03:04:05.000000001%2B14:00",
		"since=9999-12-31T23:59:59Z&until=0000-01-01T00:00:00Z", "verdict=OK", "limit=-1", "limit=99999999999999999999",
		"all=1&project=p&task=%00&language=c&after=x", "since=2026-01-02T03:04:05%20Z",
	} {
		f.Add(query)
	}

	read := func(query string) (history.Filter, error) {
		r := httptest.NewRequest("GET", "/v1/history", nil)
		r.URL.RawQuery = query
		return filter(r)
	}

	f.Fuzz(func(t *testing.T, query string) {
		asked, err := url.ParseQuery(query)
		if err != nil {
			t.Skip("refused before") // TestGatewayRefusals
		}

		got, err := read(query)
		if err != nil {
			var e *api.Error
			if !errors.As(err, &e) || e.Code != api.CodeBadRequest || !strings.Contains(e.Message, "=") {
				t.Fatalf("%q is refused with %v", query, err)
			}
			return
		}

		q := url.Values{"project": {got.Project}, "task": {got.Task}, "language": {got.Language}, "after": {got.After},
			"all": {strconv.FormatBool(got.Scope.Everyone)}}
		for i, v := range got.Verdicts {
			if !slices.Contains(api.Verdicts(), v) || slices.Contains(got.Verdicts[:i], v) {
				t.Fatalf("%q asks for the verdicts %q", query, got.Verdicts)
			}
			q.Add("verdict", string(v))
		}

		if got.Failed {
			q.Add("verdict", history.Failed)
		}
		if got.Limit != 0 {
			q.Set("limit", strconv.Itoa(got.Limit))
		}

		for name, at := range map[string]time.Time{"since": got.Since, "until": got.Until} {
			if said, err := time.Parse(time.RFC3339, asked.Get(name)); err == nil && !at.Equal(said) {
				t.Fatalf("%q: %s is %v", query, name, at)
			}
			if !at.IsZero() {
				q.Set(name, at.Format(time.RFC3339Nano))
			}
		}

		again, err := read(q.Encode())
		if err != nil || got.Limit < 0 || !again.Since.Equal(got.Since) || !again.Until.Equal(got.Until) {
			t.Fatalf("%q is %+v; written out %+v, %v", query, got, again, err)
		}

		got.Since, got.Until = again.Since, again.Until // the same time in another zone
		if !reflect.DeepEqual(got, again) {
			t.Fatalf("%q is %+v; written out %+v", query, got, again)
		}
	})
}
