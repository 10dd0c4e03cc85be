package runtime

// step names a point at which setting up may fail. Tests make each of them fail in
// turn and demand that no program runs and nothing is left (AGT-17); an agent's
// Config has no fault.
func (h *Host) step(name string) error {
	if h.cfg.fault == nil {
		return nil
	}
	return h.cfg.fault(name)
}
