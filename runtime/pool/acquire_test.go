package pool

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// TPL-08. Work that runs can do without waits for a slot until its time, for memory only a moment, and not
// at all for memory that only sessions have.
func TestOptionalWorkWaitsAMoment(t *testing.T) {
	for name, tt := range map[string]struct {
		leased   bool
		memory   api.Size
		code     api.Code
		min, max time.Duration
	}{
		"all slots are busy":       {true, 1, api.CodeBusy, 30 * time.Second, 30 * time.Second},
		"runs have the memory":     {true, 100, api.CodeSetupTimeout, optionalMemoryWait, 2 * optionalMemoryWait},
		"sessions have the memory": {false, 100, api.CodeSetupTimeout, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &Pool{slots: []*slotState{{leased: tt.leased}, {leased: tt.leased && tt.memory == 1}}, memory: 100, reserved: 50}
			begun := time.Now()
			done := make(chan error)
			go func() {
				_, err := p.AcquireOptional(t.Context(), Want{Once: true, Memory: tt.memory}, linux.Monotonic()+30*time.Second)
				done <- err
			}()
			err := <-done
			if took := time.Since(begun); !api.HasCode(err, tt.code) || took < tt.min || took > tt.max {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			if len(p.line) != 0 {
				t.Errorf("%s: it is in the line after its end", name)
			}
		})
	}
}
