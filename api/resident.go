package api

// SessionResidents is the maximum of concurrent residents in a session: programs that hold no slot, at a terminal or with
// pipes. They are not among SessionExecs.
const SessionResidents = 16

// StaysWithoutSlot reports whether the program is a resident: it holds no slot, and its time is that of the session.
func (e Exec) StaysWithoutSlot() bool { return e.Resident || e.TTY != nil }

// RefuseUnstreamed refuses a program that somebody has to talk with, where nobody can.
func (e Exec) RefuseUnstreamed() error {
	if e.Resident {
		return Refuse(CodeBadRequest, "resident: such a program is talked with while it runs: use brig session exec --resident, or "+
			"a process of the session in the service; or leave it out")
	}
	return e.TTY.RefuseUnstreamed()
}

// validateResident refuses what a resident cannot have, and what only a resident has.
func (e Exec) validateResident() error {
	switch {
	case e.StaysWithoutSlot() && len(e.Collect.Globs) > 0: // their memory would be reserved for hours (TTY-12)
		return Refuse(CodeBadRequest, "collect: the files of a terminal or a resident stay in its session: leave collect out, and get "+
			"them from there (brig session get)")
	case e.Control && !e.Resident:
		return Refuse(CodeBadRequest, "control: only a resident program has descriptors 3 and 4: set resident as well")
	case e.Control && e.TTY != nil:
		return Refuse(CodeBadRequest, "control: a program at a terminal has one stream: leave tty or control out")
	case e.Resident && len(e.Stdin) > 0:
		return Refuse(CodeBadRequest, "resident: stdin is sent while the program runs: leave stdin out")
	}
	return nil
}
