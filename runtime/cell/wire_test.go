package cell

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Both sides of the wire are written by hand; the compiler checks that they agree.
func TestWireSizes(t *testing.T) {
	const program = `#include <stdio.h>
#include "wire.h"
int main(void) { printf("hello %zu\nspawn %zu\nstart %zu\nreply %zu\nlast %d\nwide %d\njoins %d\nrlimits %d\nwords %d\nstrings %d\nclocks %d\nlast step %d\nnamed %d from %d\n",
	sizeof(struct hello), sizeof(struct spawn), sizeof(struct start), sizeof(struct reply),
	MAX_LAST, MAX_WIDE, MAX_JOINS, MAX_RLIMITS, MAX_WORDS, MAX_STRINGS, CLOCK_WORDS, STEP_NAMESPACE, MAX_NAMED, NAMED_FD); }`

	dir := t.TempDir()
	src, bin := filepath.Join(dir, "sizes.c"), filepath.Join(dir, "sizes")
	if err := os.WriteFile(src, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-I", "cellinit", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}

	got, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}

	want := fmt.Sprintf("hello %d\nspawn %d\nstart %d\nreply %d\nlast %d\nwide %d\njoins %d\nrlimits %d\nwords %d\n"+
		"strings %d\nclocks %d\nlast step %d\nnamed %d from %d\n",
		binary.Size(wireHello{}), binary.Size(wireSpawn{}), binary.Size(wireStart{}), binary.Size(Reply{}),
		wireMaxLast, wireMaxWide, wireMaxJoins, wireMaxRlimits, wireMaxWords, wireMaxStrings, wireClockWords, len(cellSteps)-1,
		wireMaxNamed, wireNamedFD)
	if string(got) != want {
		t.Errorf("C and Go differ:\n%s\nwant\n%s", got, want)
	}
	if binary.Size(Reply{}) != ReplySize {
		t.Errorf("wireReplySize = %d; want %d", ReplySize, binary.Size(Reply{}))
	}
}

func TestStartMessageIsTheStructAndTheWords(t *testing.T) {
	b, err := encodeStart("/app", []string{"/bin/true", ""}, []string{"A=1"}, []wireLimit{{Resource: 7, Soft: 3, Hard: 4}}, 0, 2)
	if err != nil {
		t.Fatal(err)
	}

	var s wireStart
	r := bytes.NewReader(b)
	if err := binary.Read(r, binary.LittleEndian, &s); err != nil {
		t.Fatal(err)
	}

	words := string(b[binary.Size(s):])
	if s.Magic != wireMagic || s.Kind != kindStart || s.Argc != 3 || s.Envc != 1 || s.Rlimits != 1 ||
		s.Limit[0].Resource != 7 || s.Limit[0].Soft != 3 || s.Limit[0].Hard != 4 || s.Named != 2 || int(s.Strings) != len(words) {
		t.Errorf("header %+v", s)
	}
	if want := "/app\x00/bin/true\x00\x00A=1\x00"; words != want {
		t.Errorf("words %q; want %q", words, want)
	}
}

func TestStartMessageRefusesWhatTheShellWould(t *testing.T) {
	for _, tt := range []struct {
		name    string
		argv    []string
		rlimits int
		named   uint32
	}{
		{"no words", nil, 0, 0},
		{"too many words", strings.Split(strings.Repeat("a ", wireMaxWords+1), " "), 0, 0},
		{"too long", []string{strings.Repeat("a", wireMaxStrings)}, 0, 0},
		{"too many rlimits", []string{"a"}, wireMaxRlimits + 1, 0},
		{"too many named files", []string{"a"}, 0, wireMaxNamed + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := encodeStart("", tt.argv, nil, make([]wireLimit, tt.rlimits), 0, tt.named); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestReplyNamesTheStepThatFailed(t *testing.T) {
	b := encode(&Reply{Magic: wireMagic, Kind: kindFailed, Step: uint32(len(cellSteps) - 1), Err: int32(unix.ENOENT)})
	_, err := decodeReply(b, kindExited)
	var step *StepError
	if !errors.As(err, &step) || step.Step != stepNamespace || !errors.Is(step.Err, unix.ENOENT) {
		t.Errorf("got %v", err)
	}
}

func FuzzReply(f *testing.F) {
	f.Add(encode(&Reply{Magic: wireMagic, Kind: kindExited}))
	f.Add(encode(&Reply{Magic: wireMagic, Kind: kindFailed, Step: 9999}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeReply(b, kindExited)
		if err == nil && (r.Magic != wireMagic || r.Kind != kindExited || len(b) != ReplySize) {
			t.Errorf("accepted %x", b)
		}
	})
}
