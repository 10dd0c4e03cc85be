package check

import "github.com/brig-sandbox/brig/api"

// A rule is a kind of finding. %s in its message is the name that was found.
type rule struct {
	severity api.Severity
	message  string
}

// rules are all kinds of findings; docs/check.md lists them.
var rules = map[string]rule{
	"syntax":      {api.SeverityError, "%s"},
	"compile":     {api.SeverityError, "%s"},
	"import":      {api.SeverityWarning, "%s"},                   // the run may supply the file
	"unreadable":  {api.SeverityError, "the parser gave up: %s"}, // this and the next: a source that could not be read must not pass
	"not-checked": {api.SeverityError, "the source could not be checked: %s"},
	"large":       {api.SeverityWarning, "the source has %s bytes: more than the usual maximum of 1 MiB"},

	"network": {api.SeverityInfo, "%s needs a network, and a sandbox has none"},

	"python-eval":       {api.SeverityError, "%s executes any text as a program"},
	"python-exec":       {api.SeverityError, "%s executes any text as a program"},
	"python-os-system":  {api.SeverityError, "%s starts other programs"},
	"python-subprocess": {api.SeverityError, "%s starts other programs"},
	"python-pickle":     {api.SeverityError, "%s executes what the data contain"},
	"python-import":     {api.SeverityWarning, "%s imports the module that its argument names"},

	"js-eval":          {api.SeverityError, "%s executes any text as a program"},
	"js-function":      {api.SeverityError, "the constructor %s makes a program from any text"},
	"js-child-process": {api.SeverityError, "%s starts other programs"},
	"js-inner-html":    {api.SeverityWarning, "%s interprets text as markup, including scripts"},

	"private-key": {api.SeverityCritical, "a private key"},
	"token":       {api.SeverityCritical, "%s"},
	"password":    {api.SeverityError, "the source contains a password or key as %s: pass it in the environment"},
}
