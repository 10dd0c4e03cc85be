package seccomp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A reviewer reads the golden files when a tier changes.
func TestTiersInWords(t *testing.T) {
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range Tiers() {
		p := tier(t, name)
		p.Arch = AMD64
		var b strings.Builder
		for nr := range AMD64.table() {
			call := Name(int32(nr), AMD64)
			if call == "" {
				continue
			}
			words, _ := inWords(p, call)
			b.WriteString(call + ": " + words + "\n")
		}

		golden(t, filepath.Join("testdata", name+".txt"), []byte(b.String()))
		o, err := ExportOCI(p)
		if err != nil {
			t.Fatal(err)
		}

		data, err := o.JSON()
		if err != nil {
			t.Fatal(err)
		}

		golden(t, filepath.Join("testdata", name+".oci.json"), data)
	}
}

func TestExplain(t *testing.T) {
	p := tier(t, "default")
	p.Arch = AMD64

	for name, want := range map[string][]string{
		"keyctl":     {"keyctl (number 250)", "kill", "always", "keyrings"},
		"ioctl":      {"allow", "if arg1 == 0x541b", "errno ENOTTY", "otherwise"},
		"clone":      {"arg0 == 0x4111", "errno EPERM", "the default of profile default"},
		"socketpair": {"arg0 == 0x1 and arg1 & 0xfffffffffff7f7ff == 0x1"},
	} {
		e, err := Explain(p, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(e.String(), w) {
				t.Errorf("%s: %q is not in\n%s", name, w, e)
			}
		}
	}

	if _, err := Explain(p, "opnat"); err == nil {
		t.Error("an unknown call was explained")
	}

	for nr, want := range map[int32]string{
		250: "keyctl (number 250)\n  kill",
		600: "syscall_600 (number 600)\n  errno ENOSYS       always: newer than the last known call, ",
	} {
		if e, err := ExplainNumber(p, nr); err != nil || !strings.HasPrefix(e.String(), want) {
			t.Errorf("%d: %v, %v; want %q", nr, e, err, want)
		}
	}

	for _, nr := range []int32{-1, 400, 39 | X32Bit} {
		if e, err := ExplainNumber(p, nr); err == nil {
			t.Errorf("%d, which is no call's, was explained: %v", nr, e)
		}
	}
}

func TestDiffNamesWhatOpens(t *testing.T) {
	a := tier(t, "strict")
	if d := Diff(a, tier(t, "strict")); len(d) > 0 {
		t.Errorf("strict differs from itself: %v", d)
	}

	wider := map[string]bool{}
	for _, c := range Diff(a, tier(t, "default")) {
		wider[c.Name] = c.Wider
	}

	if !wider["fork"] || !wider["socketpair"] {
		t.Errorf("fork and socketpair open between strict and default; got %v", wider)
	}
	if w, ok := wider["clone"]; w || !ok {
		t.Error("clone is allowed for some arguments in both, so it changes without opening")
	}
	if _, ok := wider["read"]; ok {
		t.Error("read does not change")
	}

	b := a
	b.Default = Kill()
	if d := Diff(a, b); len(d) == 0 {
		t.Error("another default changes nothing")
	}
}
