package operator

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// A Doctor is what brig doctor answered.
type Doctor struct {
	Trusted bool
	Unknown []string
	Checks  []api.HostCheck
}

// How long brig doctor may take, and how long its answer is kept: it probes the kernel, so that not each request asks.
const (
	doctorTimeout = 30 * time.Second
	doctorKept    = time.Minute
)

// A doctorAnswer is the last answer of brig doctor.
type doctorAnswer struct {
	mu     sync.Mutex // held while brig doctor is asked: it is asked once at a time
	at     time.Time
	answer Doctor
	err    error
}

func (o *Operator) getInstallation(w http.ResponseWriter, r *http.Request) error {
	if err := forAdmins(core.CallerOf(r.Context()), "settings are those of the whole service"); err != nil {
		return err
	}

	v := api.Installation{Settings: append([]api.Setting{}, o.site.Settings...), Checks: []api.HostCheck{}}
	if o.site.Doctor == nil {
		v.Problem = "this service was started in a way that cannot ask brig doctor"
		o.Reply(w, r, http.StatusOK, v)
		return nil
	}

	answer, err := o.askDoctor()
	if err != nil {
		v.Problem = err.Error()
	} else {
		v.Trusted, v.Unknown = answer.Trusted, answer.Unknown
		v.Checks = append(v.Checks, answer.Checks...)
	}
	o.Reply(w, r, http.StatusOK, v)
	return nil
}

// askDoctor asks brig doctor, unless it has answered lately. It does not end with the request: others wait for it.
func (o *Operator) askDoctor() (Doctor, error) {
	d := &o.doctor
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && time.Since(d.at) < doctorKept {
		return d.answer, d.err
	}

	ctx, cancel := context.WithTimeout(o.Stopping, doctorTimeout)
	defer cancel()
	d.answer, d.err = o.site.Doctor(ctx)
	d.at = time.Now()
	return d.answer, d.err
}
