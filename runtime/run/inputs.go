package run

import (
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// PlaceInputs places the inputs of a plan into /box: for a run before any other process has access to
// it, for an exec while other processes run in the session.
func (at Place) PlaceInputs(p *plan.Run) (map[string]cell.Input, error) {
	if at.Session != nil {
		err := at.Session.PlaceInputs(p.Files)
		if err == nil {
			err = at.Session.PlaceInputs(p.Built)
			var e *api.Error
			if errors.As(err, &e) && (e.Code == api.CodeBadFile || e.Code == api.CodeTooLarge) {
				err = plan.ArtifactTooLarge("the program", e.Message)
			}
		}
		return nil, err
	}

	size, inodes := p.ScratchSize()
	if err := at.Shell.Scratch.Resize(size, inodes); err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}

	base := plan.SlotIDs(at.Cell.Slot)
	return at.Shell.Scratch.PlaceFiles(p, base+plan.UID, base+plan.GID)
}
