package run

import (
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
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

// The kernel charges a file in memory to the process that writes it, and the agent writes the
// inputs. The program may write to them as well: uncorrected, they would be memory beyond its limit
// (MEM-19). So the group of a run gets its limit minus what the inputs take, and the reported
// memory includes them. A removed input still counts: the agent cannot see what became of its pages.

// withoutInputs returns limits without the memory that the placed files take.
func withoutInputs(l api.Limits, placed api.Size) api.Limits {
	l.Memory -= placed
	return l
}

// withInputs adds the memory of placed files to a measured usage.
func withInputs(u groups.Usage, placed api.Size) groups.Usage {
	u.MemoryPeak += int64(placed)
	return u
}
