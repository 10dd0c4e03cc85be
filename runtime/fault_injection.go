package runtime

// step names a point at which setup may fail. Tests make each point fail in turn and check that no
// program runs and nothing is left behind (AGT-17). In production Config.fault is nil.
func (h *Host) step(name string) error {
	if h.cfg.fault == nil {
		return nil
	}
	return h.cfg.fault(name)
}
