package neighbours

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// RES-28: a run learns from Pss in /proc/self/smaps which files of its image a neighbour maps that does
// not cooperate, in the modes strict and fresh: here which of two files it chose by a secret. In mode
// exclusive neither the neighbour's choice can be seen, nor can the neighbour see that of others.
func TestHostilePagesOfANeighbour(t *testing.T) {
	a, _ := startChannelAgent(t, "2")
	probe := harness.BuildProbe(t, "pages")
	pages := func(mode api.Mode, args ...string) *talker {
		r := harness.Program(probe, args...)
		r.Image, r.Profile, r.Mode, r.Collect.None = "cold", "strict", mode, true
		r.Limits = api.Limits{Memory: 64 * api.MiB, Wall: harness.Slowly(25)}
		k := talk(t, a, r)
		k.readUntil(t, "begun")
		return k
	}

	for _, tt := range []struct {
		spy, victim api.Mode
		seen        bool
	}{
		{api.Strict, api.Strict, true},
		{api.Fresh, api.Fresh, true},
		{api.Exclusive, api.Exclusive, false},
		{api.Strict, api.Exclusive, false}, // a key with the mode exclusive next to others
		{api.Exclusive, api.Strict, false},
	} {
		t.Run(fmt.Sprintf("%s watches %s", tt.spy, tt.victim), func(t *testing.T) {
			spy := pages(tt.spy, "watch", "/cold/0", "/cold/1", "/pages")
			if seen := spy.look(t); len(seen) != 0 {
				t.Fatalf("alone it sees %q", seen)
			}

			for _, secret := range []string{"/cold/1", "/cold/0"} {
				var want []string
				if tt.seen {
					want = []string{"used " + secret}
				}
				victim := pages(tt.victim, "use", secret)
				if seen := spy.look(t); !slices.Equal(seen, want) {
					t.Errorf("next to a run that uses %s it sees %q; want %q", secret, seen, want)
				}
				victim.end(t)
				if seen := spy.look(t); len(seen) != 0 {
					t.Errorf("after the run that used %s it sees %q", secret, seen)
				}
			}

			spy.end(t)
		})
	}
}

// RES-28: the same of a template, which all runs that begin from it map.
func TestHostilePagesOfATemplate(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)
	python := func(mode api.Mode, source string) *talker {
		r := harness.Py(source)
		r.Mode, r.Limits = mode, api.Limits{Memory: 128 * api.MiB, Wall: harness.Slowly(25)}
		k := talk(t, a, r)
		k.readUntil(t, "begun")
		return k
	}

	const victim = `
import sys
print("begun", flush=True)
sys.stdin.read()
`

	const spy = `
import mmap, os, sys
f = os.open("/proc/self/exe", os.O_RDONLY)
m = mmap.mmap(f, 0, mmap.MAP_SHARED, mmap.PROT_READ)
sum(m[::mmap.PAGESIZE])
def shares():
    mine = False
    for line in open("/proc/self/smaps"):
        word = line.split()
        if "-" in word[0] and len(word) > 4:
            mine = word[1] == "r--s"
        elif mine and word[0] == "Pss:":
            return int(word[1])
last = shares()
print("begun", flush=True)
while sys.stdin.readline():
    now = shares()
    if now < last:
        print("used")
    last = now
    print("looked", flush=True)
`

	for _, tt := range []struct {
		mode api.Mode
		seen bool
	}{{api.Strict, true}, {api.Exclusive, false}} {
		t.Run(string(tt.mode), func(t *testing.T) {
			// What the spy itself executes for the first time is mapped a second time, and counts like a neighbour's.
			k := python(tt.mode, spy)
			for same, looks := 0, 0; same < 3; looks++ {
				same++
				if len(k.look(t)) != 0 {
					same = 0
				}
				if looks == 100 {
					t.Fatal("alone it sees something in each of 100 looks")
				}
			}

			neighbour := python(tt.mode, victim)
			if seen := k.look(t); (len(seen) > 0) != tt.seen {
				t.Errorf("next to another run it sees %q; want something: %v", seen, tt.seen)
			}
			neighbour.end(t)
			if res := k.end(t); res.Host.Template != tt.seen {
				t.Errorf("it began from a template: %v", res.Host.Template)
			}
		})
	}
}

// look has a talker look around, and returns what it says that it sees.
func (k *talker) look(t testing.TB) []string {
	t.Helper()
	if _, err := io.WriteString(k.ask, "look\n"); err != nil {
		t.Fatal(err)
	}
	return k.readUntil(t, "looked")
}

// end ends a talker, which must end well.
func (k *talker) end(t testing.TB) api.Result {
	t.Helper()
	k.ask.Close()
	res := <-k.done
	harness.WantVerdict(t, res, api.OK)
	return res
}
