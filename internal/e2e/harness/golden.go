package harness

import (
	"flag"
	"strings"
)

// Update is the flag of tests that write what they compare with.
var Update = flag.Bool("update", false, "write the golden files anew")

// LineDiff lists the lines in which two texts differ.
func LineDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var b strings.Builder
	for i := range max(len(w), len(g)) {
		var x, y string
		if i < len(w) {
			x = w[i]
		}
		if i < len(g) {
			y = g[i]
		}
		if x != y {
			b.WriteString("- " + x + "\n+ " + y + "\n")
		}
	}

	return b.String()
}
