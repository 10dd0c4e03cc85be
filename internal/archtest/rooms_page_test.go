package archtest

import (
	"flag"
	"fmt"
	"os"
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

	table := strings.TrimSuffix(b.String(), "\n")

	if *update {
		if err := docblock.Replace(page, begin, end, table); err != nil {
			t.Fatal(err)
		}
	}

	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), begin+"\n"+table+"\n"+end) {
		t.Errorf("%s has another table of rooms than the rules: write it with -update", page)
	}
}
