package runtime

import "errors"

// undos collects the functions that undo the steps done so far. Deferred, run calls them in reverse
// order if the function returns an error, and joins their errors to it.
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
