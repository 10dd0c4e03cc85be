package cgroups

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDiskRateIsWrittenForOneDevice(t *testing.T) {
	for _, tt := range []struct {
		rate int64
		want string
	}{{100 * mib, "7:3 rbps=104857600 wbps=104857600"}, {0, "7:3 rbps=max wbps=max"}} {
		if got := diskRate(unix.Mkdev(7, 3), tt.rate); got != (Write{"io.max", tt.want}) {
			t.Errorf("%d: %+v; want %s", tt.rate, got, tt.want)
		}
	}
}

// Where the controllers are on version 1 the refusal names what is missing.
func TestDiskRateIsRefusedOnVersion1(t *testing.T) {
	for _, mode := range []Mode{V1, Hybrid} {
		tree := &Tree{host: &Host{Mode: mode}}
		err := tree.EnableIO()
		if !errors.Is(err, ErrUnsupported) ||
			!strings.Contains(err.Error(), "control groups v2 with the io controller, and this host's mode is "+string(mode)) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
