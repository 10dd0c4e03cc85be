package agent

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// A frame gives the terminal a size that terminals have, and any other leaves it as it was (TTY-06).
func TestResize(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()

	if !isTerminal(master) {
		t.Fatal("a master is no terminal")
	}
	if null, err := os.Open(os.DevNull); err != nil || isTerminal(null) {
		t.Errorf("%s is a terminal (%v)", os.DevNull, err)
	}

	for _, tt := range []struct {
		payload string
		want    api.TTY // zero: refused
	}{
		{`{"rows":33,"cols":99}`, api.TTY{Rows: 33, Cols: 99}},
		{`{"cols":99}`, api.TTY{Rows: 24, Cols: 99}},
		{`{}`, api.TTY{Rows: 24, Cols: 80}},
		{`{"rows":4096,"cols":4096}`, api.TTY{Rows: 4096, Cols: 4096}},
		{`{"rows":4097}`, api.TTY{}},
		{`{"rows":-1}`, api.TTY{}},
		{`{"rows":1e99}`, api.TTY{}},
		{`{"rows":33,"cols":99,"x":1}`, api.TTY{}},
		{`{"rows":33`, api.TTY{}},
		{``, api.TTY{}},
	} {
		before, err := winsize(master)
		if err != nil {
			t.Fatal(err)
		}

		want := tt.want
		err = resize(master, []byte(tt.payload))
		if (err != nil) != (want == api.TTY{}) {
			t.Errorf("%q: %v", tt.payload, err)
		}
		if err != nil {
			want = api.TTY{Rows: int(before.Row), Cols: int(before.Col)}
		}

		now, err := winsize(master)
		if err != nil || int(now.Row) != want.Rows || int(now.Col) != want.Cols {
			t.Errorf("%q: the terminal has %+v (%v); want %+v", tt.payload, now, err, want)
		}
	}
}
