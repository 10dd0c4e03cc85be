package usage

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func samplePages() []Page {
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringP("code", "c", "", "run this `CODE`: it's [all]")
	f.String("out", "", "write to this `DIR`")
	f.Int("queue", 7, "most that wait")
	f.Bool("json", false, "print JSON")
	f.Bool("secret", false, "nobody's")
	if err := f.MarkHidden("secret"); err != nil {
		panic(err)
	}

	none := func() *pflag.FlagSet { return pflag.NewFlagSet("", pflag.ContinueOnError) }
	return []Page{
		{Name: "p run", Short: "run it", Flags: f, Text: `
Run a program.
.Odd lines are 'text' with a \ and a - too. More of it.

Usage:
  p run [flags]
    indented

Examples:
  p run -c 'x'

  p run --out d

What follows is no example.

Checks:
  one
`},
		{Name: "p group", Text: "Many of them, in\none sentence. Not this.", Flags: none()},
		{Name: "p group ls", Text: "List.", Flags: none()},
	}
}

func TestMan(t *testing.T) {
	const want = `.\" Made from the command's own --help.
.TH P\-RUN 1 "" "brig v1" "The manual of brig"
.nh
.SH NAME
p\-run \- run it
.SH SYNOPSIS
.EX
p run [flags]
  indented
.EE
.SH DESCRIPTION
Run a program.
\&.Odd lines are \(aqtext\(aq with a \e and a \- too. More of it.
.PP
What follows is no example.
.SH CHECKS
.EX
one
.EE
.SH OPTIONS
.TP
\fB\-c, \-\-code CODE\fR
run this CODE: it\(aqs [all]
.TP
\fB\-\-out DIR\fR
write to this DIR
.TP
\fB\-\-queue int\fR
most that wait (default 7)
.TP
\fB\-\-json\fR
print JSON
.SH EXAMPLES
.EX
p run \-c \(aqx\(aq
.EE
.PP
.EX
p run \-\-out d
.EE
.SH SEE ALSO
p(1), q(8)
`

	all := samplePages()
	if got := all[0].Man(1, "v1", []string{"p(1)", "q(8)"}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := all[1].Man(1, "v1", nil); !strings.Contains(got, "p\\-group \\- Many of them, in one sentence\n") {
		t.Errorf("a page without a short line: %s", got)
	}
}
