package plan

import (
	"slices"
	"testing"
)

// CAP-10: the environment is what is documented, and later sources win.
func TestEnvironmentIsExactlyWhatIsDocumented(t *testing.T) {
	t.Setenv("BRIG_SECRET", "of the agent")
	got := Environment(map[string]string{"LANG": "C", "A": "language"}, map[string]string{"A": "caller"})
	want := []string{"A=caller", "HOME=/box", "LANG=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=/tmp"}
	if !slices.Equal(got, want) {
		t.Errorf("environment %q; want %q", got, want)
	}
}
