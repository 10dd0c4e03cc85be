package agentsandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// executed is what became of a command.
type executed struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// notExecuted tells that a command was not executed, or not to its end, for a reason of its own.
func notExecuted(why string) dialect.Plan {
	return answer(executed{Stderr: "Failed to execute command: " + why, ExitCode: 1})
}

// planExecute executes a command, which is split into words and seen by no shell.
func planExecute(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var ask struct {
		Command *string `json:"command"`
	}
	if err := json.Unmarshal(r.Body, &ask); err != nil || ask.Command == nil {
		return refuse(422, invalid, "the body must be an object of JSON with command, which is a text")
	}
	if len(*ask.Command) > api.MaxArgBytes { // its words would take twenty times as much (TestLongCommands)
		return notExecuted("Argument list too long")
	}
	argv, err := words(*ask.Command)
	if err != nil {
		return notExecuted(err.Error())
	}
	if len(argv) == 0 {
		return notExecuted("the command is empty")
	}

	return of(r, func() dialect.Plan {
		run := dialect.Call{Method: "POST", Path: below(r, "/exec", nil), Body: dialect.Encode(api.Exec{Argv: argv})}
		return onReply(run, func(p *api.Problem) *dialect.Plan {
			if p.Code != api.CodeNoProgram {
				return nil
			}
			told := notExecuted(p.Detail)
			return &told
		}, tellResult)
	})
}

// tellResult tells how a command ended. The exit code is that of Python: -N for signal N.
func tellResult(res api.Result) dialect.Plan {
	word := dialect.Verdicts[dialect.AgentSandbox][res.Verdict]
	if res.Verdict == api.Canceled { // no program: the session or its client has ended it
		return refuse(404, notFound, "the command was ended with its session")
	}
	limit := res.Limits.Wall
	if res.Verdict == api.CPULimit {
		limit = res.Limits.CPU
	}
	told := executed{Stdout: string(res.Stdout), Stderr: string(res.Stderr), ExitCode: word.Number}
	switch {
	case word.Text != "":
		return notExecuted(fmt.Sprintf("%s after %s", word.Text, limit))
	case res.Verdict == api.Nonzero:
		told.ExitCode = res.ExitCode
	case res.Signal != 0:
		told.ExitCode = -res.Signal
	}
	if res.Verdict == api.OutputLimit {
		told.Stderr += "\nbrig: it wrote more than " + res.Limits.Output.String() + " to one stream"
	}
	told.Stdout, told.Stderr = text(told.Stdout), text(told.Stderr)
	return answer(told)
}

// text is bytes as JSON can have them.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// words splits a command as shlex.split of Python does: quotes and backslashes have their meaning, and nothing else has.
func words(command string) (all []string, err error) {
	var word strings.Builder
	begun, quote := false, byte(0)
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'':
			i++
			if i == len(command) {
				return nil, errors.New("No escaped character") //nolint:staticcheck // the words of Python
			}
			if quote == '"' && command[i] != '"' && command[i] != '\\' {
				word.WriteByte(c)
			}
			word.WriteByte(command[i])
			begun = true
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("No closing quotation") //nolint:staticcheck // the words of Python
	}
	if begun {
		all = append(all, word.String())
	}
	return all, nil
}
