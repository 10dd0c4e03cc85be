//go:build !ablate

package ablate

// CheckLayers returns nil: in this build no layer of isolation can be left out.
func CheckLayers() error { return nil }

// Off returns false, so that the compiler removes the guarded code. TestProductionHasEveryLayer
// checks that none of it is left.
func Off(Layer) bool { return false }
