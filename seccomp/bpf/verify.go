package bpf

import (
	"fmt"

	"github.com/brig-sandbox/brig/seccomp"
)

// A Mismatch is a call for which a filter and its profile give different answers.
type Mismatch struct {
	Call seccomp.Call
	Got  seccomp.Answer
	Want seccomp.Decision
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("libseccomp's filter answers %s (number %d, arch %#x, arguments %#x) with %s, the profile says %s",
		m.Want.Name, m.Call.Nr, m.Call.Arch, m.Call.Args, m.Got, m.Want.Answer)
}

// Verify runs a compiled filter in the simulator on every boundary call of p
// and returns a *Mismatch for the first call on which it differs from p's model.
func Verify(raw []byte, p seccomp.Profile) error {
	model := seccomp.NewModel(p)
	for c := range seccomp.BoundaryCalls(p) {
		ret, _, err := seccomp.Simulate(raw, c)
		if err != nil {
			return err
		}

		got, err := seccomp.AnswerOf(ret)
		if err != nil {
			return err
		}

		want := model.Decide(c)
		if want.Action == seccomp.ActCount { // a notification, as kill is
			want.Answer = seccomp.Kill()
		}
		if got != want.Answer {
			return &Mismatch{Call: c, Got: got, Want: want}
		}
	}

	return nil
}
