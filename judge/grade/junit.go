package grade

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr,omitempty"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
	Skipped *struct{}     `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes JUnit XML: a test suite for each submission, with a case for each test. A
// submission that was not judged is an error, and not a failure.
func (r Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: valid(r.Problem)}
	for _, row := range r.Submissions {
		s := row.suite(r.Tests)
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
		all.Suites = append(all.Suites, s)
	}

	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}

	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}

	_, err := io.WriteString(w, "\n")
	return err
}

func (r Row) suite(ids []string) junitSuite {
	s := junitSuite{Name: valid(r.ID)}
	by := map[string]api.TestResult{}
	var total float64
	if r.Result != nil {
		for _, t := range r.Result.Tests {
			by[t.ID] = t
			total += seconds(t)
		}
	}

	s.Time = fmt.Sprintf("%.3f", total)

	// No test of such a submission has run. It gets a case of its own, so that a reader of JUnit counts a
	// failure or an error.
	if r.Status != Done || r.Word == "CE" {
		c := junitCase{Name: "judged", Class: valid(r.ID)}
		m := &junitMessage{Message: valid(r.Why), Type: string(r.Status), Text: ""}
		if r.Status == Done {
			m.Type, c.Failure, s.Failures = "CE", m, 1
			m.Text = valid(string(r.Result.Stderr))
			c.Name = "compile"
		} else {
			c.Error, s.Errors = m, 1
		}
		s.Tests, s.Cases = 1, []junitCase{c}
		return s
	}

	for _, id := range ids {
		c := junitCase{Name: valid(id), Class: valid(r.ID)}
		t, ran := by[id]
		switch {
		case !ran:
			c.Skipped = &struct{}{}
			s.Skipped++
		case !t.Accepted():
			why := t.Difference
			if id == r.First {
				why = r.Why
			}
			if id != r.First && t.Difference == "" {
				why = ownWord(t)
			}
			c.Failure = &junitMessage{Message: valid(why), Type: Word(t), Text: valid(string(t.Result.Stderr))}
			s.Failures++
		}

		if ran {
			c.Time = fmt.Sprintf("%.3f", seconds(t))
		}

		s.Tests++
		s.Cases = append(s.Cases, c)
	}

	return s
}

func seconds(t api.TestResult) float64 { return float64(t.Result.Timing.Wall) / 1e9 }

// valid replaces bytes that XML cannot have, which the output of a program may contain: a reader
// would refuse the whole file for them.
func valid(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
