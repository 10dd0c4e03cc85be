package runtime

import "errors"

// undos collects what takes back the steps done so far. Deferred, it runs them in
// reverse when the function returns an error, and joins their failures to it.
type undos struct {
	err   *error
	steps []func() error
}

func undoing(err *error) *undos { return &undos{err: err} }

func (u *undos) add(step func() error) { u.steps = append(u.steps, step) }

// release keeps what was built.
func (u *undos) release() { u.steps = nil }

func (u *undos) run() {
	if *u.err == nil {
		return
	}
	for i := len(u.steps) - 1; i >= 0; i-- {
		*u.err = errors.Join(*u.err, u.steps[i]())
	}
}
