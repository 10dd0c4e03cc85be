package main

import (
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// imageMemory is the flag --image-memory. Its zero value is the default.
type imageMemory struct {
	max  api.Size // negative: none
	read bool
}

func (m *imageMemory) Set(text string) error {
	*m = imageMemory{}
	switch text {
	case "none":
		m.max = -1
	case "read":
		m.read = true
	default:
		if err := m.max.Set(text); err != nil {
			return fmt.Errorf("%w; or write none, or read", err)
		}
	}
	return nil
}

func (m *imageMemory) String() string {
	switch {
	case m.read:
		return "read"
	case m.max < 0:
		return "none"
	case m.max == 0:
		return ""
	}
	return m.max.String()
}

func (*imageMemory) Type() string { return "size" }

// templateMemory is the flag --template-memory. Its zero value is the default.
type templateMemory struct{ max api.Size } // negative: none

func (m *templateMemory) Set(text string) error {
	if text == "none" {
		m.max = -1
		return nil
	}
	if err := m.max.Set(text); err != nil {
		return fmt.Errorf("%w; or write none", err)
	}
	return nil
}

func (m *templateMemory) String() string {
	return (&imageMemory{max: m.max}).String()
}

func (*templateMemory) Type() string { return "size" }
