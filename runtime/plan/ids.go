package plan

// The host ids of slot k's cells are IDBase+k*IDCount and the 65,535 after it:
// above what distributions hand out (subuid ranges start at 100,000 and end
// below 600,100,000 by default), below 2^31, and shared with no other slot, so
// that per-uid quotas of one run never bind another (NS-14, PID-14).
const (
	IDBase  = 0x40000000
	IDCount = 65536
	MaxSlot = 4096

	// FirstSessionRange is the number of the first range of ids that belongs to sessions. The
	// ranges before it belong to slots.
	FirstSessionRange = MaxSlot
)

// The program's identity inside a cell.
const (
	UID = 1000
	GID = 1000
)

// SlotIDs returns the first host id of a slot.
func SlotIDs(slot int) int { return IDBase + slot*IDCount }
