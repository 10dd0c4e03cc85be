package runtime

import (
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// placeInputs places the inputs of a plan into /box: for a run before any other process has access to
// it, for an exec while other processes run in the session.
func (at place) placeInputs(p *plan.Run) (map[string]input, error) {
	if at.session != nil {
		err := at.session.placeInputs(p.Files)
		if err == nil {
			err = at.session.placeInputs(p.Built)
			var e *api.Error
			if errors.As(err, &e) && (e.Code == api.CodeBadFile || e.Code == api.CodeTooLarge) {
				err = plan.ArtifactTooLarge("the program", e.Message)
			}
		}
		return nil, err
	}
	if err := at.shell.scratch.resize(p.Limits.Scratch, p.Limits.Inodes); err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	base := plan.SlotIDs(at.cell.slot)
	return at.shell.scratch.placeFiles(p.Files, p.Built, p.Source, base+plan.UID, base+plan.GID)
}
