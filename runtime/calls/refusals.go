package calls

import "github.com/brig-sandbox/brig/api"

// maxRefusals limits how many kinds of refused calls a result names: a program can make any call be
// refused, in a dozen ways.
const maxRefusals = 64

// Refusals are the calls of a run that its profile refused with an error.
type Refusals []api.Refusal

// Add counts one refusal. Kinds beyond the limit are counted together, as others.
func (r *Refusals) Add(one api.Refusal) {
	for i := range *r {
		if (*r)[i].Syscall == one.Syscall && (*r)[i].Errno == one.Errno {
			(*r)[i].Count += one.Count
			return
		}
	}

	switch {
	case len(*r) < maxRefusals-1:
		*r = append(*r, one)
	case len(*r) == maxRefusals-1:
		*r = append(*r, api.Refusal{Syscall: "others", Profile: one.Profile, Count: one.Count})
	default:
		(*r)[maxRefusals-1].Count += one.Count
	}
}

// NoteLogged counts a call that log mode allowed to continue.
func NoteLogged(list []api.Denial, d api.Denial) []api.Denial {
	for i := range list {
		if list[i].Number == d.Number && list[i].Arch == d.Arch && list[i].Rule == d.Rule {
			list[i].Count += d.Count
			return list
		}
	}
	if len(list) < maxLogged {
		list = append(list, d)
	}
	return list
}

// maxLogged limits the length of Result.Logged: a program can make system calls with any number.
const maxLogged = 256
