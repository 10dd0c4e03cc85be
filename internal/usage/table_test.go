package usage

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestTable(t *testing.T) {
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	f.SortFlags = false
	f.BoolP("verbose", "v", false, "log more, also of --queue.")
	f.String("secret", "", "nobody's")
	f.String("out", "", "write to this `FILE`")
	f.Lookup("out").NoOptDefVal = "-"
	f.String("dir", "/var/x", "`DIR` of all")
	f.StringSlice("host", nil, "`HOST`, such as *.example (80 and 443) (repeatable; default: any host)")
	f.StringSlice("image", []string{"a", "b"}, "`NAMES` of images")
	f.Int("slots", 0, "most at once (default: one per core, with --pairs two)")
	f.Int("queue", 7, "most that wait; 0: none")
	f.Duration("wait", 10*time.Minute, "how long")
	f.Duration("keep", 168*time.Hour, "how long a|b stays")
	f.Duration("pause", 90*time.Second, "how long")
	f.Duration("grace", 10*time.Second, "how long")
	if err := f.MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}

	const want = `
| flag | default | meaning |
|---|---|---|
| ¡-v, --verbose¡ | | log more, also of ¡--queue¡. |
| ¡--out[=FILE]¡ | | write to this FILE |
| ¡--dir DIR¡ | /var/x | DIR of all |
| ¡--host HOST¡ | any host | HOST, such as \*.example (80 and 443) (repeatable) |
| ¡--image NAMES¡ | a,b | NAMES of images |
| ¡--slots int¡ | one per core, with ¡--pairs¡ two | most at once |
| ¡--queue int¡ | 7 | most that wait; 0: none |
| ¡--wait duration¡ | 10m | how long |
| ¡--keep duration¡ | 168h | how long a\|b stays |
| ¡--pause duration¡ | 1m30s | how long |
| ¡--grace duration¡ | 10s | how long |`

	const wantSome = `
| flag | meaning |
|---|---|
| ¡-v, --verbose¡ | log more, also of ¡--queue¡. |
| ¡--out[=FILE]¡ | write to this FILE |`

	p := Page{Name: "x", Flags: f}
	for _, tt := range []struct {
		names []string
		want  string
	}{{nil, want}, {[]string{"out", "verbose"}, wantSome}} {
		if got := "\n" + p.Table(tt.names...); got != strings.ReplaceAll(tt.want, "¡", "`") {
			t.Errorf("flags %v: got%s\nwant%s", tt.names, got, tt.want)
		}
	}
}
