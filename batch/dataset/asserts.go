package dataset

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// humanEvalTask reads a task of HumanEval or EvalPlus: a prompt, which the solution continues, and a
// function check(candidate) with asserts.
func humanEvalTask(rec record) (t task, err error) {
	prompt, err := needed[string](rec, "prompt")
	if err != nil {
		return t, err
	}
	if t.run, err = checkRun(rec); err != nil {
		return t, err
	}
	t.program = func(s solution) string { return continued(prompt, t.run.Call.Fn, s) }
	t.canonical = ownSolution(rec, "canonical_solution", completion)
	return t, nil
}

// checkRun returns the run of a test that defines check(candidate).
func checkRun(rec record) (r api.Run, err error) {
	test, err := needed[string](rec, "test")
	if err != nil {
		return r, err
	}

	entry, err := needed[string](rec, "entry_point")
	if err != nil {
		return r, err
	}
	if !identifier().MatchString(entry) {
		return r, errors.New("entry_point: expected the name of a Python function")
	}

	r.Call = &api.Call{Fn: entry}
	r.Tests = []api.Test{{ID: "1", Asserts: []byte(test + "\n\ncheck(" + entry + ")\n")}}
	return r, nil
}

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL_][\pL\pN_]*$`) })

// continued is the program that a solution and the prompt make. An answer, too, may be the rest of the
// function alone. One that defines the function gets what is before it in the prompt: imports and helpers.
func continued(prompt, entry string, s solution) string {
	switch {
	case s.kind == program:
		return s.text
	case s.kind == completion:
		return prompt + s.text
	case !defines(s.text, entry):
		return prompt + s.text
	}
	if i := lastDefinition(prompt, entry); i >= 0 {
		return prompt[:i] + s.text
	}
	return s.text
}

func definition(entry string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(async[ \t]+)?def[ \t]+` + regexp.QuoteMeta(entry) + `[ \t]*\(|^` +
		regexp.QuoteMeta(entry) + `[ \t]*=`)
}

func defines(code, entry string) bool { return definition(entry).MatchString(code) }

// lastDefinition is where the prompt begins to define a function; -1 if it does not.
func lastDefinition(prompt, entry string) int {
	all := definition(entry).FindAllStringIndex(prompt, -1)
	if len(all) == 0 {
		return -1
	}
	return all[len(all)-1][0]
}

// mbppTask reads a task of MBPP: a list of asserts; or of MBPP+, which has a text with all of them.
func mbppTask(rec record) (t task, err error) {
	list, err := field[[]string](rec, "test_list")
	if err != nil {
		return t, err
	}

	setup, err := setupOf(rec)
	if err != nil {
		return t, err
	}

	whole, err := field[string](rec, "test")
	switch {
	case err != nil:
		return t, err
	case whole != "": // MBPP+ also has the list, of the tests that are not its own
		t.run.Tests = []api.Test{{ID: "1", Asserts: []byte(setup + whole + "\n")}}
	case len(list) == 0:
		return t, missingField("test_list")
	}

	if whole == "" {
		t.run.Tests = assertTests(setup, list)
	}

	t.canonical = ownSolution(rec, "code", program)
	return t, nil
}

// setupOf returns the statements before the asserts: test_setup_code is a text, test_imports a list.
func setupOf(rec record) (string, error) {
	setup, err := field[string](rec, "test_setup_code")
	if err != nil {
		return "", err
	}

	imports, err := field[[]string](rec, "test_imports")
	if err != nil {
		return "", err
	}

	setup = strings.Join(append(imports, setup), "\n")
	if setup = strings.TrimSpace(setup); setup != "" {
		setup += "\n"
	}
	return setup, nil
}

// assertTests makes a test of each assert, so that the score is the share of those that hold.
func assertTests(setup string, list []string) []api.Test {
	var all []api.Test
	for i, one := range list {
		all = append(all, api.Test{ID: strconv.Itoa(i + 1), Asserts: []byte(setup + strings.TrimSpace(one) + "\n")})
	}
	return all
}
