package limits

import (
	"bytes"
	le "encoding/binary"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// brokenELF is an executable with one program header: an interpreter of size bytes at offset.
func brokenELF(interpreter string, offset, size uint64) api.Bytes {
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9))
	put := func(v any) { _ = le.Write(&b, le.LittleEndian, v) } // a buffer takes everything
	put([]uint16{2, 62})
	put(uint32(1))
	put([]uint64{0x400000, 64, 0})
	put(uint32(0))
	put([]uint16{64, 56, 1, 0, 0, 0})
	put([]uint32{3, 4})
	put([]uint64{offset, 0, 0, size, size, 1})
	b.WriteString(interpreter + "\x00")
	return b.Bytes()
}

// A file that claims to be a program but is cut short, or names an interpreter that is too short,
// makes execve fail with EIO (fs/binfmt_elf.c, elf_read). The program is at fault: this is neither
// a brig error worth a retry nor a reason to destroy the cell, or every run could cost brig a cell.
func TestBrokenProgramGetsAVerdict(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	exe := func(content api.Bytes) api.File { return api.File{Name: "x", Content: content, Executable: true} }
	for name, files := range map[string][]api.File{
		"an interpreter beyond the end":    {exe(brokenELF("", 1<<30, 16))},
		"an empty file as the interpreter": {exe(brokenELF("/box/e", 120, 7)), {Name: "e", Executable: true}},
	} {
		t.Run(name, func(t *testing.T) {
			res := a.MustRun(t, api.Run{Image: "tiny", Argv: []string{"./x"}, Files: files})
			harness.WantVerdict(t, res, api.Nonzero)
			if res.ExitCode != 126 || !strings.Contains(string(res.Stderr), "cannot be executed") {
				t.Errorf("exit code %d, stderr %q; want 126 and why", res.ExitCode, res.Stderr)
			}
		})
	}
}
