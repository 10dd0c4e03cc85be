package bpf

import (
	"flag"
	"fmt"
	"go/format"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

var updateVerified = flag.Bool("update", false, "write verified.go")

// The filters of brig's tiers are compared here, and not again at every start of the agent.
func TestVerifiedFilters(t *testing.T) {
	var table strings.Builder
	table.WriteString(`package bpf

// verified has the sum of each filter that TestVerifiedFilters has compared with its profile, and which one it is.
// go test ./seccomp/bpf -run TestVerifiedFilters -update writes it. A filter that is not here, as on another
// architecture or of another libseccomp, is compared when it is compiled.
var verified = map[string]string{
`)
	for _, name := range seccomp.Tiers() {
		tier, err := seccomp.Tier(name)
		if err != nil {
			t.Fatal(err)
		}

		wide, last := seccomp.Split(tier)
		for _, one := range []struct {
			part string
			p    seccomp.Profile
		}{{"wide", wide}, {"last", last}} {
			raw, err := compile(one.p)
			if err == nil {
				err = Verify(raw, one.p)
			}
			if err != nil {
				t.Fatalf("%s, %s: %v", name, one.part, err)
			}
			key := sum(raw, one.p)
			if !strings.Contains(table.String(), key) { // some tiers have the same last part
				fmt.Fprintf(&table, "\t%q: %q,\n", key, name+", "+one.part)
			}
		}
	}

	if runtime.GOARCH != "amd64" { // the table has the filters of one architecture
		return
	}

	table.WriteString("}\n")
	want, err := format.Source([]byte(table.String()))
	if err != nil {
		t.Fatal(err)
	}
	if *updateVerified {
		if err := os.WriteFile("verified.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("verified.go"); err != nil || string(got) != string(want) {
		t.Errorf("verified.go is not what the tiers make (%v): go test ./seccomp/bpf -run TestVerifiedFilters -update", err)
	}
}

// Another profile with the same filter, and another filter of the same profile, are compared.
func TestSumsHaveProfileAndFilter(t *testing.T) {
	strict, err := seccomp.Tier("strict")
	if err != nil {
		t.Fatal(err)
	}

	other := strict
	other.Rules = strict.Rules[1:]
	raw := []byte("a filter")
	if sum(raw, strict) == sum(raw, other) || sum(raw, strict) == sum([]byte("another"), strict) {
		t.Error("two sums are the same")
	}
	if verified[sum(raw, strict)] != "" {
		t.Error("a filter that nobody compared is in the table")
	}
}
