package suite

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// junitCases reads JUnit XML. The reader of Go's library expands no entities but those of XML itself, and
// refuses others; a document type is refused, too.
func junitCases(report []byte) ([]testCase, error) {
	d := xml.NewDecoder(bytes.NewReader(report))
	var all []testCase
	var text strings.Builder // of the outcome in the case
	depth, inCase, inOutcome := 0, 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("it is not JUnit XML: %w", err)
		}

		switch t := token.(type) {
		case xml.Directive:
			return nil, errors.New("it is not JUnit XML: it has a document type")
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("it is not JUnit XML: its elements are nested more than %d deep", maxDepth)
			}

			switch name := t.Name.Local; {
			case depth == 1 && name != "testsuites" && name != "testsuite":
				return nil, fmt.Errorf("it is not JUnit XML: its root is %.40q", name)
			case inCase == 0 && name == "testcase":
				if len(all) == maxCases {
					return nil, errMany
				}
				inCase = depth
				c := testCase{id: junitID(t)}
				if attribute(t, "name") == "" { // pytest writes such a case for one that ended pytest itself
					c.status, c.message = failed, "the case has no name: it did not run to its end"
				}
				all = append(all, c)

			case inCase == depth-1 && inCase > 0 && junitStatus(name) != passed:
				c := &all[len(all)-1]
				if c.status != failed {
					c.status, c.message = junitStatus(name), attribute(t, "message")
				}
				text.Reset()
				inOutcome = depth
			}

		case xml.CharData:
			if inOutcome > 0 && text.Len() < maxMessage {
				text.Write(t[:min(len(t), maxMessage)])
			}
		case xml.EndElement:
			if depth == inOutcome {
				if c := &all[len(all)-1]; c.message == "" || c.message == "collection failure" { // pytest's words for a file that it cannot import
					c.message = strings.TrimSpace(text.String())
				}
				inOutcome = 0
			}
			if depth == inCase {
				inCase = 0
			}
			depth--
		}
	}

	return all, nil
}

func junitStatus(element string) status {
	switch element {
	case "failure", "error":
		return failed
	case "skipped":
		return skipped
	}
	return passed
}

// junitID is the name of a case, after that of its class.
func junitID(e xml.StartElement) string {
	class, name := attribute(e, "classname"), attribute(e, "name")
	if class == "" || class == "test" ||
		strings.HasSuffix(class, ".ps1") { // node --test writes it for every case, and Pester the path of its file
		return name
	}
	return class + "." + name
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
