package archtest

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/docblock"
)

var update = flag.Bool("update", false, "write the table of rooms into docs/architecture.md")

// The table of rooms in the documents is that of the rules.
func TestArchitecturePageHasTheRooms(t *testing.T) {
	const page, begin, end = "../../docs/architecture.md", "<!-- rooms: written by go test ./internal/archtest -update -->",
		"<!-- end of rooms -->"

	var b strings.Builder
	b.WriteString("| room | may import, of ours | why |\n|---|---|---|\n")
	for _, r := range rooms {
		name := r.dir
		if below, ok := strings.CutSuffix(r.dir, "/"); ok {
			name = below + "/*"
		}
		may := "nothing"
		if len(r.may) > 0 {
			may = "`" + strings.Join(r.may, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, may, r.why)
	}

	if err := docblock.Check(page, begin, end, strings.TrimSuffix(b.String(), "\n"), *update); err != nil {
		t.Error(err)
	}
}
