package api

import (
	"math"
	"slices"
	"strconv"
)

// A Comparison is a way to compare output with the expected output.
type Comparison string

// The comparisons. White space is ASCII's: space, \t, \n, \v, \f and \r.
const (
	CompareExact Comparison = "exact" // every byte
	// line by line, ignoring white space at the end of lines and empty lines at the end; the default
	CompareLines     Comparison = "lines"
	CompareTokens    Comparison = "tokens"    // the words between white space
	CompareFloat     Comparison = "float"     // tokens, where two numbers may differ within the tolerance
	CompareKattis    Comparison = "kattis"    // the default output validator of the Kattis problem package format, 2025-09
	CompareWhiteDiff Comparison = "whitediff" // the tokens of each line, ignoring empty lines at the end; CMS's white diff
	// tokens, each separated by spaces where expected has spaces, and by a line's end where it has one; DMOJ's standard
	// checker
	CompareDMOJ Comparison = "dmoj"
	// LiveCodeBench's: lines without the white space around them, equal as text or as lists of decimal numbers
	CompareLCB             Comparison = "lcb"
	CompareUnorderedLines  Comparison = "unordered-lines"  // the tokens of each line, the lines in any order; DMOJ's sorted checker
	CompareUnorderedTokens Comparison = "unordered-tokens" // tokens in any order; DMOJ's sorted checker with split_on whitespace
	CompareJSON            Comparison = "json"             // JSON values
)

// DefaultTolerance is the tolerance of CompareFloat if the request sets none.
const DefaultTolerance = 1e-6

// A Compare says how output is compared.
type Compare struct {
	How Comparison `json:"how,omitempty" doc:"empty: lines"`

	Tolerance float64 `json:"tolerance,omitempty" doc:"for float and json: two numbers are equal if their difference is at most this, absolute or relative to the larger one; zero means 1e-6 for float, and equal numbers for json"`

	CaseSensitive  bool     `json:"case_sensitive,omitempty" doc:"for kattis: A to Z differ from a to z"`
	SpaceSensitive bool     `json:"space_sensitive,omitempty" doc:"for kattis: white space must be the same, byte by byte; the package format's space_change_sensitive"`
	Absolute       *float64 `json:"absolute,omitempty" doc:"for kattis: a number may differ from the expected number by this"`
	Relative       *float64 `json:"relative,omitempty" doc:"for kattis: a number may differ from the expected number by this share of the expected number"`

	Unordered bool `json:"unordered,omitempty" doc:"for json: the elements of arrays may have any order"`
	NaNEqual  bool `json:"nan_equal,omitempty" doc:"for json: NaN equals NaN"`
}

// Validate refuses a comparison that does not exist, and options that it does not have.
func (c Compare) Validate() error {
	if c.How != "" && !slices.Contains(c.How.Values(), c.How) {
		return Refuse(CodeBadRequest, "comparison %q does not exist: use %s", c.How, orList(c.How.Values()))
	}

	for _, n := range []struct {
		name  string
		value float64
	}{{"tolerance", c.Tolerance}, {"absolute", deref(c.Absolute)}, {"relative", deref(c.Relative)}} {
		if !(n.value >= 0) || math.IsInf(n.value, 0) {
			return Refuse(CodeBadRequest, "%s %v: must be a positive number, such as 1e-9", n.name, n.value)
		}
	}

	kattis := c.CaseSensitive || c.SpaceSensitive || c.Absolute != nil || c.Relative != nil
	switch {
	case c.Tolerance != 0 && c.How == CompareKattis:
		return Refuse(CodeBadRequest,
			"tolerance %v is set, and the comparison is kattis: use absolute, relative, or both", c.Tolerance)
	case c.Tolerance != 0 && c.How != CompareFloat && c.How != CompareJSON:
		return Refuse(CodeBadRequest,
			"tolerance %v is set, but the comparison is not float: use float, or leave it out", c.Tolerance)
	case kattis && c.How != CompareKattis:
		return Refuse(CodeBadRequest,
			"case_sensitive, space_sensitive, absolute and relative are for the comparison kattis: use it, or leave them out")
	case (c.Unordered || c.NaNEqual) && c.How != CompareJSON:
		return Refuse(CodeBadRequest, "unordered and nan_equal are for the comparison json: use it, or leave them out")
	case c.Unordered && c.Tolerance != 0:
		return Refuse(CodeBadRequest,
			"unordered and tolerance exclude each other: there may be no best way to pair numbers that are nearly equal; use a checker")
	}

	return nil
}

func deref(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// KattisCompare is the comparison that arguments of the default output validator of the Kattis problem
// package format describe: case_sensitive, space_change_sensitive, float_tolerance E,
// float_absolute_tolerance E, float_relative_tolerance E. An error names the argument that is wrong.
func KattisCompare(args []string) (Compare, error) {
	c := Compare{How: CompareKattis}
	for i := 0; i < len(args); i++ {
		var into []**float64
		switch args[i] {
		case "case_sensitive":
			c.CaseSensitive = true
			continue
		case "space_change_sensitive":
			c.SpaceSensitive = true
			continue
		case "float_absolute_tolerance":
			into = []**float64{&c.Absolute}
		case "float_relative_tolerance":
			into = []**float64{&c.Relative}
		case "float_tolerance":
			into = []**float64{&c.Absolute, &c.Relative}
		default:
			return c, Refuse(CodeBadRequest,
				"argument %q of the default output validator does not exist: use case_sensitive, "+
					"space_change_sensitive, float_tolerance, float_absolute_tolerance or float_relative_tolerance", args[i])
		}

		if i+1 == len(args) {
			return c, Refuse(CodeBadRequest, "%s of the default output validator needs a number after it", args[i])
		}

		e, err := strconv.ParseFloat(args[i+1], 64)
		if err != nil || !(e >= 0) || math.IsInf(e, 0) {
			return c, Refuse(CodeBadRequest,
				"%s %q of the default output validator: must be a positive number, such as 1e-9", args[i], args[i+1])
		}

		for _, f := range into {
			if *f != nil {
				return c, Refuse(CodeBadRequest, "%s of the default output validator: this tolerance is set already", args[i])
			}
			*f = &e
		}

		i++
	}

	return c, nil
}
