package plan

import (
	"errors"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// MEM-19 and MEM-42: memory that a run has in addition to its limit is reserved.
func TestInputMemory(t *testing.T) {
	file := func(n int) api.File { return api.File{Name: "f", Content: make([]byte, n)} }
	for _, tt := range []struct {
		files []api.File
		want  api.Size
	}{
		{nil, 0},
		{[]api.File{file(100)}, 0},
		{[]api.File{file(256 << 10)}, 256 * api.KiB},
		{[]api.File{file(1), file(252<<10 - 1)}, 256 * api.KiB}, // pages
		{[]api.File{file(40 << 20), file(5000)}, 40 * api.MiB},
		{[]api.File{{Name: "program", Executable: true, Content: make([]byte, 1<<20)}}, 0},
	} {
		if got := InputMemory(tt.files); got != tt.want {
			t.Errorf("%d files: %s; want %s", len(tt.files), got, tt.want)
		}
	}

	p := &Run{Files: []api.File{file(4 << 20)}, Built: []api.File{file(1 << 20)}, Limits: api.Limits{Memory: 8 * api.MiB, Swap: api.MiB}}
	if err := p.CheckMemory(); err != nil {
		t.Errorf("with the least memory left: %v", err)
	}
	if got := p.Reservation(); got != 10*api.MiB {
		t.Errorf("reserved %s; want memory, swap and artifacts", got)
	}

	p.Files = append(p.Files, api.File{Name: "program", Executable: true, Content: make([]byte, 2<<20)})
	if err, got := p.CheckMemory(), p.Reservation(); err != nil || got != 12*api.MiB {
		t.Errorf("with a program: %v, reserved %s", err, got)
	}

	d := api.Defaults()
	if p.Limits.Pids, p.Limits.OpenFiles = d.Pids, d.OpenFiles; p.Reservation() != 12*api.MiB {
		t.Errorf("with the default processes and files %s is reserved; want 12M", p.Reservation())
	}
	if p.Limits.Pids, p.Limits.OpenFiles = 1000, 1024; p.Reservation() < 12*api.MiB+1000*1024*136-4*api.MiB {
		t.Errorf("1,000 threads that may wait for 1,024 files each: %s", p.Reservation())
	}

	p.Files = append(p.Files, file(256<<10))
	var source *InvalidSource
	if err := p.CheckMemory(); err == nil || errors.As(err, &source) {
		t.Errorf("a run without memory next to its files: %v; want the caller's error", err)
	}

	p.Source = "main"
	p.Files[len(p.Files)-1].Name = "main"
	if err := p.CheckMemory(); !errors.As(err, &source) {
		t.Errorf("a run whose source is the one too many: %v", err)
	}

	p.Files = append(p.Files, file(256<<10))
	if err := p.CheckMemory(); err == nil || errors.As(err, &source) {
		t.Errorf("a run whose files are too many without the source: %v; want the caller's error", err)
	}
}
