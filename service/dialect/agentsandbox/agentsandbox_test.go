package agentsandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

// The requests are those of the Python client k8s_agent_sandbox at commit 2fd412d5.
func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 30) }

// Commands are split as Python 3.11 splits them; the wanted words were printed by shlex.split.
func TestWords(t *testing.T) {
	for command, want := range map[string][]string{
		`python3 main.py`:            {"python3", "main.py"},
		`sh -c 'echo "a b" | cat'`:   {"sh", "-c", `echo "a b" | cat`},
		`echo a|b $HOME *.py #c ; d`: {"echo", "a|b", "$HOME", "*.py", "#c", ";", "d"},
		"a\tb\nc\r d ":               {"a", "b", "c", "d"},
		`"a\"b\\c\d" 'x\y' e\ f \n`:  {`a"b\c\d`, `x\y`, "e f", "n"},
		`a''b "" ''`:                 {"ab", "", ""},
		"\"ö \u00a0\" \u00a0":        {"ö \u00a0", "\u00a0"},
		``:                           nil,
		" \n":                        nil,
	} {
		if got, err := words(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", command, got, err, want)
		}
	}
	for command, want := range map[string]string{`a 'b`: "No closing quotation", `"`: "No closing quotation", `a\`: "No escaped character"} {
		if got, err := words(command); err == nil || err.Error() != want {
			t.Errorf("%q: %q, %v; want %s", command, got, err, want)
		}
	}
}

// A command of many short words would take twenty times its size: it is refused before it is split.
func TestLongCommands(t *testing.T) {
	for size, refused := range map[int]bool{api.MaxArgBytes: false, api.MaxArgBytes + 1: true} {
		body := dialect.Encode(map[string]string{"command": strings.Repeat("a ", size/2) + strings.Repeat("a", size%2)})
		p := planExecute(dialect.Request{Body: body}, dialect.Agent{})
		told := p.Answer != nil && strings.Contains(string(p.Answer.Body), "Argument list too long")
		if told != refused {
			t.Errorf("%d bytes: %v; want %v", size, told, refused)
		}
	}
}
