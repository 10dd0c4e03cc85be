package usage

import (
	"os/exec"
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

// The completion function is called as bash calls it.
func TestBash(t *testing.T) {
	script := Bash("p", samplePages())
	for _, tt := range []struct{ name, words, want string }{
		{"commands", `p ""`, "run group"},
		{"a command's beginning", `p gr`, "group"},
		{"subcommands", `p group ""`, "ls"},
		{"flags", `p run --`, "--code --out --queue --json --help"},
		{"short ones too", `p run -c x -`, "--code -c --out --queue --json --help"},
		{"of a subcommand", `p group ls --`, "--help"},
		{"files are the shell's", `p run --out ""`, ""},
		{"a value that is not known", `p run --queue -`, ""},
		{"one behind an equals sign", `p run --queue = -`, ""},
		{"what follows a flag without a value", `p run --json --q`, "--queue"},
		{"an unknown command", `p fly ""`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ask := script + "\nCOMP_WORDS=(" + tt.words + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_p\necho \"${COMPREPLY[*]}\"\n"
			cmd := exec.Command("bash", "--norc")
			cmd.Stdin = strings.NewReader(ask)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := strings.TrimSuffix(string(out), "\n"); got != tt.want {
				t.Errorf("%q; want %q", got, tt.want)
			}
		})
	}
}

func TestZshAndFishQuote(t *testing.T) {
	for _, tt := range []struct {
		name, text, has string
	}{
		{"a flag with a short one", Zsh("p", samplePages()), `'*'{-c,--code=}'[run this CODE\: it'\''s \[all\]]:CODE:' \`},
		{"a flag with a file", Zsh("p", samplePages()), `'*--out=[write to this DIR]:DIR:_files' \`},
		{"a flag without a value", Zsh("p", samplePages()), `'*--json[print JSON]' \`},
		{"a subcommand", Zsh("p", samplePages()), `'ls:List'`},
		{"a flag with a short one", Fish("p", samplePages()), `complete -c p -n '__p_at run' -l code -s c -x -d 'run this CODE: it\'s [all]'`},
		{"a flag with a file", Fish("p", samplePages()), `complete -c p -n '__p_at run' -l out -r -d 'write to this DIR'`},
		{"a flag without a value", Fish("p", samplePages()), `complete -c p -n '__p_at run' -l json -d 'print JSON'`},
		{"a command", Fish("p", samplePages()), `complete -c p -n '__p_is' -f -a run -d 'run it'`},
		{"a subcommand", Fish("p", samplePages()), `complete -c p -n '__p_is group' -f -a ls -d 'List'`},
	} {
		if !strings.Contains(tt.text, tt.has+"\n") {
			t.Errorf("%s: no line %s in\n%s", tt.name, tt.has, tt.text)
		}
		if strings.Contains(tt.text, "secret") {
			t.Errorf("a hidden flag is offered")
		}
	}
}
