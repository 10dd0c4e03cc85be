package caller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestRetryWhileBusy(t *testing.T) {
	busy := api.Fail(api.CodeBusy, "busy")
	for _, tt := range []struct {
		name  string
		wait  time.Duration
		fails int // times the agent refuses
		err   error
		tries int
		code  api.Code // "" when the run is taken in the end
	}{
		{"a free agent is asked once", time.Minute, 0, busy, 1, ""},
		{"a busy one again until it takes the run", time.Minute, 3, busy, 4, ""},
		{"no longer than asked", 20 * time.Millisecond, 1000, busy, 0, api.CodeBusy},
		{"not at all with 0", 0, 1000, busy, 1, api.CodeBusy},
		{"memory that is reserved becomes free too", time.Minute, 1, api.Fail(api.CodeOverloaded, "full"), 2, ""},
		{"another refusal is final", time.Minute, 1, api.Refuse(api.CodeNoImage, "none"), 1, api.CodeNoImage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tries := 0
			_, err := Retry(t.Context(), tt.wait, nil, func(context.Context) (api.Result, error) {
				if tries++; tries <= tt.fails {
					return api.Result{}, tt.err
				}
				return api.Result{}, nil
			})

			var e *api.Error
			switch {
			case tt.code == "" && err != nil, tt.code != "" && (!errors.As(err, &e) || e.Code != tt.code):
				t.Errorf("error %v; want code %q", err, tt.code)
			case tt.tries != 0 && tries != tt.tries:
				t.Errorf("%d tries; want %d", tries, tt.tries)
			}
		})
	}
}

func TestRetrySaysOnceWhyItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1300*time.Millisecond)
		defer cancel()

		var told []string
		note := func(why string) { told = append(told, why) }
		refuse := func(context.Context) (api.Result, error) { return api.Result{}, api.Fail(api.CodeBusy, "busy") }
		if _, err := Retry(ctx, time.Minute, note, refuse); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v after the caller left", err)
		}
		if !slices.Equal(told, []string{"every slot is busy"}) {
			t.Errorf("told %q", told)
		}
	})
}
