package problem

import (
	"fmt"
	"strings"
)

// A Generation is what a package leaves to its own programs: the files of tests that they make, and programs
// that are built by a script. It is reading that finds it, and nothing is executed for that; until the files
// are there, nothing can be judged by the package.
type Generation struct {
	Builds     []Program         `json:"builds,omitempty"` // Main is the script; it leaves the file run next to it, which takes its place
	Generators []Program         `json:"generators,omitempty"`
	Inputs     []GeneratedInput  `json:"inputs,omitempty"`
	Solution   string            `json:"solution,omitempty"` // Path of the Jury that prints the answers
	Answers    []GeneratedAnswer `json:"answers,omitempty"`
}

// A GeneratedInput is the input of a test that a generator writes.
type GeneratedInput struct {
	File      string   `json:"file"`           // what it becomes in the package
	Command   string   `json:"command"`        // as the package has it
	Generator int      `json:"generator"`      // index in Generators
	Args      []string `json:"args,omitempty"` // of the generator
	From      string   `json:"from,omitempty"` // file that the generator leaves in its directory; empty: its stdout
}

// A GeneratedAnswer is the expected output of a test, as the main solution prints it.
type GeneratedAnswer struct {
	File  string `json:"file"` // what it becomes in the package
	Input string `json:"input"`
}

// Steps is how many programs are to be built and files to be made.
func (g *Generation) Steps() int { return len(g.Builds) + len(g.Inputs) + len(g.Answers) }

// HasTests is an error if files of the tests are not there yet.
func (p *Problem) HasTests() error { return p.lacks(false) }

// Whole is an error if files of the tests are not there yet, or programs are not built.
func (p *Problem) Whole() error { return p.lacks(true) }

func (p *Problem) lacks(programs bool) error {
	if p.Generate == nil {
		return nil
	}

	g, lacks := p.Generate, []string(nil)
	if n := len(g.Inputs) + len(g.Answers); n > 0 {
		are, them := "are", "them"
		if n == 1 {
			are, them = "is", "it"
		}
		lacks = append(lacks, fmt.Sprintf("%s of its %s %s not in the package: its own programs make %s", Count(n, "file"),
			Count(len(p.Tests), "test"), are, them))
	}

	if n := len(g.Builds); n > 0 && programs {
		lacks = append(lacks, fmt.Sprintf("%d of its programs must be built by its script first", n))
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("%s; brig problem generate PACKAGE --out FILE.zip runs these and writes the whole package "+
		"(brig problem import and verify, and brig grade, run them by themselves)", strings.Join(lacks, "; "))
}
