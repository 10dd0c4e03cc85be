package cell

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// decoder is cellinit's own decoder, compiled with the sanitizers, in a process that answers one
// message after another.
type decoder struct {
	in  io.WriteCloser
	out io.Reader

	startsWithTwo bool // of the last message: a start that may have two descriptors
}

const decoderMain = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode.h"
int main(void) {
	unsigned len;
	while (fread(&len, 4, 1, stdin) == 1) {
		char *msg = malloc(len ? len : 1); /* exact, so that one byte past it is seen */
		if (len && fread(msg, len, 1, stdin) != 1) return 1;
		char **words = calloc(MAX_WORDS + 2, sizeof *words);
		unsigned char answer = 0;
		if (len >= sizeof(struct start)) {
			answer = start_words(msg, len, words);
			for (unsigned i = 0, n = 0; answer && n < 2; i++)
				if (!words[i]) n++;
				else if (strlen(words[i]) >= len) abort();
			if (answer) answer |= start_valid((struct start *)msg, 2) << 3;
		}
		if (len >= sizeof(struct spawn)) answer |= spawn_valid((struct spawn *)msg, len, 7) << 1;
		if (len >= sizeof(struct hello)) answer |= hello_valid((struct hello *)msg, len, 2) << 2;
		putchar(answer); fflush(stdout);
		free(words); free(msg);
	}
	return 0;
}`

func newDecoder(t testing.TB) *decoder {
	t.Helper()
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "main.c"), filepath.Join(dir, "decoder")
	if err := os.WriteFile(src, []byte(decoderMain), 0o600); err != nil {
		t.Fatal(err)
	}

	args := []string{"-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I", "cellinit", "-o", bin,
		src, "cellinit/decode.c"}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}

	cmd := exec.Command(bin)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("decoder: %v", err)
		}
	})

	return &decoder{in: in, out: out}
}

func (d *decoder) decode(t testing.TB, msg []byte) (start, spawn, hello bool) {
	t.Helper()
	var answer [1]byte
	if _, err := d.in.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(msg))), msg...)); err != nil {
		t.Fatalf("decoder is gone: %v", err)
	}
	if _, err := io.ReadFull(d.out, answer[:]); err != nil {
		t.Fatalf("decoder died of %x: %v", msg[:min(len(msg), 64)], err)
	}
	d.startsWithTwo = answer[0]&8 != 0
	return answer[0]&1 != 0, answer[0]&2 != 0, answer[0]&4 != 0
}

// startAccepts defines in Go on which start messages cellinit may act.
func startAccepts(msg []byte) bool {
	var m wireStart
	size := binary.Size(m)
	if len(msg) < size || binary.Read(bytes.NewReader(msg), binary.LittleEndian, &m) != nil {
		return false
	}
	words := msg[size:]
	return m.Magic == wireMagic && m.Kind == kindStart && uint64(m.Strings) == uint64(len(words)) && m.Rlimits <= wireMaxRlimits &&
		m.Argc >= 2 && uint64(m.Argc)+uint64(m.Envc) <= wireMaxWords &&
		len(words) > 0 && words[len(words)-1] == 0 && bytes.Count(words, []byte{0}) == int(m.Argc+m.Envc)
}

// cellinit's decoder acts on a message exactly when the rules allow it, and reads nothing outside
// the message.
func FuzzStartDecoder(f *testing.F) {
	good, err := encodeStart("", []string{"/bin/true", "a"}, []string{"A=1"}, rlimitsForFuzz, 0, 0)
	if err != nil {
		f.Fatal(err)
	}

	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(good[:binary.Size(wireStart{})])
	f.Add(encode(&wireSpawn{Magic: wireMagic, Kind: kindSpawn, Joins: 1, HasCgroup: 1}))
	f.Add(encode(&wireHello{Magic: wireMagic, Kind: kindHello, Wide: 5000}))
	for _, at := range []int{0, 8, 12, 16, 20} { // every count, with an arbitrary value
		bad := bytes.Clone(good)
		binary.LittleEndian.PutUint32(bad[at:], 0xffffffff)
		f.Add(bad)
	}

	d := newDecoder(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		start, spawn, hello := d.decode(t, msg)
		if want := startAccepts(msg); start != want {
			t.Errorf("start accepted: %v; want %v", start, want)
		}
		if spawn && len(msg) != binary.Size(wireSpawn{}) || hello && len(msg) != binary.Size(wireHello{}) {
			t.Errorf("a message of %d bytes was accepted", len(msg))
		}
	})
}

var rlimitsForFuzz = []wireLimit{{Resource: 7, Soft: 64, Hard: 64}}

// A spawn message is decoded as intended: a session's shell gets only the socket and the scratch,
// an exec's shell gets everything that a run's has, and no clock is outside its page. The test
// tells the decoder that there are seven descriptors.
func TestSpawnMessagesAreDistinguished(t *testing.T) {
	d := newDecoder(t)
	for _, tt := range []struct {
		name string
		msg  wireSpawn
		want bool
	}{
		{"a run's", wireSpawn{Joins: 1, HasCgroup: 1}, true},
		{"an exec's", wireSpawn{Flags: spawnExec, Joins: 1, HasCgroup: 1, Clock: wireClockWords - 1}, true},
		{"with all of /proc", wireSpawn{Flags: spawnFullProc, Joins: 2}, true},
		{"one descriptor too few", wireSpawn{Joins: 2, HasCgroup: 1}, false},
		{"a session's with more than two", wireSpawn{Flags: spawnSession}, false},
		{"a session's with groups", wireSpawn{Flags: spawnSession, Joins: 1, HasCgroup: 1}, false},
		{"both", wireSpawn{Flags: spawnSession | spawnExec, Joins: 1, HasCgroup: 1}, false},
		{"a volume that is no session's", wireSpawn{Flags: spawnVolume, Joins: 1, HasCgroup: 1}, false},
		{"a run's with a network namespace", wireSpawn{Flags: spawnNetwork, Joins: 1, HasCgroup: 1}, true},
		{"an exec's with a network namespace", wireSpawn{Flags: spawnExec | spawnNetwork, Joins: 1, HasCgroup: 1}, false},
		{"an installer's", wireSpawn{Flags: spawnInstall | spawnNetwork, Joins: 1, HasCgroup: 1}, true},
		{"an exec's of an installer", wireSpawn{Flags: spawnExec | spawnInstall, Joins: 1, HasCgroup: 1}, false},
		{"an unknown flag", wireSpawn{Flags: 64, Joins: 1, HasCgroup: 1}, false},
		{"a clock outside the page", wireSpawn{Joins: 1, HasCgroup: 1, Clock: wireClockWords}, false},
	} {
		tt.msg.Magic, tt.msg.Kind = wireMagic, kindSpawn
		if _, spawn, _ := d.decode(t, encode(&tt.msg)); spawn != tt.want {
			t.Errorf("%s: accepted %v; want %v", tt.name, spawn, tt.want)
		}
	}
}

// A start message says what its descriptors are. A program from a template gets no pipes that it opens by name:
// its memory knows of no descriptors but its own.
func TestStartsAreDistinguished(t *testing.T) {
	d := newDecoder(t)
	for _, tt := range []struct {
		name         string
		flags, named uint32
		want         bool
	}{
		{"stdin and stdout", startLinked, 0, true},
		{"two pipes by name", 0, 2, true},
		{"none", 0, 0, false},
		{"a template and a pipe", startTemplate, 1, false},
		{"a template, stdin and stdout", startTemplate | startLinked, 0, false},
		{"too many", 0, wireMaxNamed + 1, false},
		{"more than there are", 0, 3, false},
		{"a count that overflows", startLinked, 1 << 31, false},
		{"one of a pair", startLinked | startPaired, 0, true},
		{"one pipe for both outputs", startMerged, 2, true},
		{"one pipe for both outputs, and the interactor's", startMerged | startLinked, 0, false},
		{"a terminal, and two files", startTTY, 0, false},
		{"two pipes of control", startControl, 2, true},
		{"one pipe of control", startControl, 1, false},
		{"two pipes of control and stdio", startControl | startLinked, 2, false},
		{"two pipes of control and a template", startControl | startTemplate, 2, false},
		{"two pipes of control and a terminal", startControl | startTTY, 2, false},
		{"two pipes of control, one for both outputs", startControl | startMerged, 2, true},
		{"an unknown flag", 64, 2, false},
	} {
		msg, err := encodeStart("", []string{"/bin/true"}, nil, nil, tt.flags, min(tt.named, wireMaxNamed))
		if err != nil {
			t.Fatal(err)
		}
		binary.LittleEndian.PutUint32(msg[28:], tt.named)
		if start, _, _ := d.decode(t, msg); !start || d.startsWithTwo != tt.want {
			t.Errorf("%s: accepted %v, with two descriptors %v; want %v", tt.name, start, d.startsWithTwo, tt.want)
		}
	}
}
