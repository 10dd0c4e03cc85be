package template

import "testing"

func TestUserModeLinuxIsUnsupported(t *testing.T) {
	for info, want := range map[string]string{
		"processor\t: 0\nvendor_id\t: User Mode Linux\nmodel name\t: UML\nmode\t\t: skas\n": "user-mode Linux cannot " +
			"begin programs from templates",
		"processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n": "",
	} {
		if got := unsupported([]byte(info)); got != want {
			t.Errorf("%q: %q; want %q", info, got, want)
		}
	}
}
