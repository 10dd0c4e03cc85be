package main

import (
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// imageMemory is the flag --image-memory. Its zero value is the default.
type imageMemory struct {
	most api.Size // negative: none
	read bool
}

func (m *imageMemory) Set(text string) error {
	*m = imageMemory{}
	switch text {
	case "none":
		m.most = -1
	case "read":
		m.read = true
	default:
		if err := m.most.Set(text); err != nil {
			return fmt.Errorf("%w; or none, or read", err)
		}
	}
	return nil
}

func (m *imageMemory) String() string {
	switch {
	case m.read:
		return "read"
	case m.most < 0:
		return "none"
	case m.most == 0:
		return ""
	}
	return m.most.String()
}

func (*imageMemory) Type() string { return "size" }
