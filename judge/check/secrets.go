package check

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// secretRules are the rules that only Source reports, never a checker.
var secretRules = map[string]bool{"private-key": true, "token": true, "password": true, "large": true}

// A format describes the keys of one issuer.
type format struct {
	contains string // the expression is tried only if the source contains this
	what     string
	pattern  func() *regexp.Regexp
}

// compiled returns the function that compiles an expression when it is first needed: brig has this package
// in every command, and compiling all of them takes more than a millisecond.
func compiled(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var formats = []format{
	{"AKIA", "an access key of AWS", compiled(`\bAKIA[0-9A-Z]{16}\b`)},
	{"ASIA", "an access key of AWS", compiled(`\bASIA[0-9A-Z]{16}\b`)},
	{"gh", "a token of GitHub", compiled(`\bgh[pousr]_[0-9A-Za-z]{36,255}\b`)},
	{"github_pat_", "a token of GitHub", compiled(`\bgithub_pat_[0-9A-Za-z_]{40,255}\b`)},
	{"glpat-", "a token of GitLab", compiled(`\bglpat-[0-9A-Za-z_-]{20,}`)},
	{"xox", "a token of Slack", compiled(`\bxox[abeoprs]-[0-9A-Za-z-]{20,}`)},
	{"hooks.slack.com", "a webhook address of Slack, which is a secret",
		compiled(`hooks\.slack\.com/services/T[0-9A-Za-z_]+/B[0-9A-Za-z_]+/[0-9A-Za-z_]{16,}`)},
	{"_live_", "a key of Stripe", compiled(`\b[sr]k_live_[0-9A-Za-z]{16,}\b`)},
	{"AIza", "a key of Google", compiled(`\bAIza[0-9A-Za-z_-]{35}\b`)},
	{"GOCSPX-", "a key of Google", compiled(`\bGOCSPX-[0-9A-Za-z_-]{20,}`)},
	{"npm_", "a token of npm", compiled(`\bnpm_[0-9A-Za-z]{36}\b`)},
	{"pypi-", "a token of PyPI", compiled(`\bpypi-[0-9A-Za-z_-]{50,}`)},
	{"SG.", "a key of SendGrid", compiled(`\bSG\.[0-9A-Za-z_-]{20,24}\.[0-9A-Za-z_-]{40,50}`)},
	{"hf_", "a token of Hugging Face", compiled(`\bhf_[0-9A-Za-z]{30,}\b`)},
	{"sk-", "a secret key of a service", compiled(`\bsk-[0-9A-Za-z_-]{32,}`)},
	{"eyJ", "a signed token (JWT)", compiled(`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}`)},
	{"://", "an address with a password", compiled(`\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'"{}$<>%]{1,64}:[^\s:/@'"{}$<>%]{3,64}@[0-9A-Za-z.-]+`)},
}

// assignment matches a literal assigned to a name that suggests a secret, as most languages write
// it, also as a key of a dictionary and in a comparison.
var assignment = compiled(`(?i)([0-9a-z_]*(?:password|passwd|passphrase|pwd|secret|api_?key|access_?key|private_?key|auth_?token|access_?token|bearer_?token|api_?token)[0-9a-z_]*)` +
	"[\"'`]?\\]?\\s*(?::\\s*[0-9A-Za-z_.]{1,32}\\s*)?(?:===?|=>|:=|=|:)\\s*(?:new\\s+|[rRbBuU]{0,2})(\"[^\"\\\\\\n]{1,200}\"|'[^'\\\\\\n]{1,200}'|`[^`\\\\\\n]{1,200}`)")

// notSecret matches names that are about a secret but do not hold it. placeholder matches literals
// that stand for a secret to be filled in.
var (
	notSecret   = compiled(`(?i)(prompt|label|field|hint|error|message|msg|text|title|regex|pattern|name|url|path|file|header|length|len|type|column|param|placeholder|hash)s?$`)
	placeholder = compiled(`(?i)^(x+|\*+|\.+|<.*>|\$\{.*\}|\{.*\}|%s|your[-_ ].*|change[-_ ]?me.*|none|null|nil|undefined|true|false|todo|example|dummy|test|env|secret|password|string|text|hidden|required)$`)
)

// maxScan is how much of a source is searched for secrets.
const maxScan = 8 << 20

// Source finds what needs no parser: secrets, and that a source is large. The findings do not
// contain the secrets themselves.
func Source(name string, text []byte) []api.Finding {
	s := newSource(orDefaultName(name), text)
	var found []api.Finding
	if len(text) > LargeSource {
		found = append(found, s.finding("large", 0, 0, strconv.Itoa(len(text))))
	}

	all := secrets(text[:min(len(text), maxScan)])
	for _, one := range all {
		line, begin := s.lineOf(one.from)
		f := s.finding(one.rule, line, one.from-begin+1, one.name)
		f.Snippet = s.masked(all, line, begin, one.from)
		found = append(found, f)
	}

	return normalize(found)
}

// A secret is a range of bytes of a source.
type secret struct {
	rule, name string
	from, to   int
}

func secrets(text []byte) []secret {
	var all []secret
	for _, f := range formats {
		if bytes.Contains(text, []byte(f.contains)) {
			for _, at := range f.pattern().FindAllIndex(text, MaxFindings) {
				all = append(all, secret{"token", f.what, at[0], at[1]})
			}
		}
	}

	for _, at := range privateKey().FindAllIndex(text, MaxFindings) {
		all = append(all, secret{"private-key", "", at[0], at[1]})
	}

	for _, m := range assignment().FindAllSubmatchIndex(text, 10*MaxFindings) {
		variable, value := string(text[m[2]:m[3]]), string(text[m[4]+1:m[5]-1])
		if isSecret(variable, value) {
			all = append(all, secret{"password", variable, m[4], m[5]})
		}
	}

	return all[:min(len(all), 10*MaxFindings)]
}

// masked returns the text of a line around a byte, with stars in place of secrets.
func (s *source) masked(all []secret, line, begin, around int) string {
	from := max(begin, around-maxSnippet/2)
	text := bytes.Clone(s.text[from:min(begin+len(s.line(line)), around+maxSnippet)])
	for _, one := range all {
		for i := max(one.from, from); i < min(one.to, from+len(text)); i++ {
			text[i-from] = '*'
		}
	}
	return printableLine(string(stars().ReplaceAll(text, []byte("***"))), maxSnippet)
}

var stars = compiled(`\*{3,}`)

var privateKey = compiled(`-----BEGIN ([A-Z]+ )*PRIVATE KEY( BLOCK)?-----`)

func orDefaultName(name string) string {
	if api.FileName(name) == nil {
		return name
	}
	return "source"
}

// isSecret reports whether name is that of a secret and value could be one. A password may be any
// word; keys are long and have digits.
func isSecret(name, value string) bool {
	if notSecret().MatchString(name) || placeholder().MatchString(value) || strings.ContainsAny(value, " \t") {
		return false
	}
	name = strings.ToLower(name)
	for _, word := range []string{"password", "passwd", "passphrase", "pwd"} {
		if strings.Contains(name, word) {
			return len(value) >= 3
		}
	}
	return len(value) >= 8 && strings.ContainsAny(value, "0123456789")
}

// lineOf returns the number of the line that a byte is in, and where that line begins.
func (s *source) lineOf(offset int) (line, begin int) {
	lo, hi := 0, len(s.lineEnds)-1
	for lo < hi {
		if mid := (lo + hi) / 2; s.lineEnds[mid] < offset {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 {
		begin = s.lineEnds[lo-1] + 1
	}
	return lo + 1, begin
}
