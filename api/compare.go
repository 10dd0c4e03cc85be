package api

import "math"

// A Comparison is a way to compare output with the expected output.
type Comparison string

// The comparisons. White space is ASCII's: space, \t, \n, \v, \f and \r.
const (
	CompareExact  Comparison = "exact"  // every byte
	CompareLines  Comparison = "lines"  // line by line, ignoring white space at the end of lines and empty lines at the end; the default
	CompareTokens Comparison = "tokens" // the words between white space
	CompareFloat  Comparison = "float"  // tokens, where two numbers may differ within the tolerance
)

// DefaultTolerance is the tolerance of CompareFloat if the request sets none.
const DefaultTolerance = 1e-6

// A Compare says how output is compared.
type Compare struct {
	How Comparison `json:"how,omitempty" doc:"empty: lines"`

	Tolerance float64 `json:"tolerance,omitempty" doc:"for float: two numbers are equal if their difference is at most this, absolute or relative to the larger one; zero means 1e-6"`
}

// Validate refuses a comparison that does not exist and a tolerance that makes no sense.
func (c Compare) Validate() error {
	switch c.How {
	case "", CompareExact, CompareLines, CompareTokens, CompareFloat:
	default:
		return Refuse(CodeBadRequest, "comparison %q does not exist: use lines, tokens, exact or float", c.How)
	}
	switch {
	case !(c.Tolerance >= 0) || math.IsInf(c.Tolerance, 0):
		return Refuse(CodeBadRequest, "tolerance %v: must be a positive number, such as 1e-9", c.Tolerance)
	case c.Tolerance != 0 && c.How != CompareFloat:
		return Refuse(CodeBadRequest, "tolerance %v is set, but the comparison is not float: use float, or leave it out", c.Tolerance)
	}
	return nil
}
