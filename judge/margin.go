package judge

import (
	"bytes"
	"math/big"
	"strconv"
)

// A margin is how far a number may be from the expected one: by an absolute value, or by a part of the expected number.
type margin struct {
	absolute, relative *float64 // nil: it permits nothing
	ofEither           bool     // the relative one may also be a part of the other number
}

// The bounds of numbers that float64 cannot hold, so that a token costs no more than its length.
const (
	marginDigits   = 60
	marginExponent = 100_000_000
	marginBits     = 256
)

// permits reports whether two decimal numbers of any size are within the margin. Their first digits count.
func (m margin) permits(expected, got []byte) bool {
	x, ok := parseDecimal(expected)
	y, also := parseDecimal(got)
	switch {
	case !ok || !also || x.word != "" || y.word != "":
		return false
	case x.equal(y):
		return true
	case x.exponent > marginExponent || y.exponent > marginExponent: // nothing that anybody prints is as large
		return false
	}

	a, b := x.big(), y.big()
	d := newBig().Sub(a, b)
	d.Abs(d)
	within := func(tolerance *float64, of *big.Float) bool {
		t := newBig().SetFloat64(*tolerance)
		return d.Cmp(t.Mul(t, of.Abs(of))) <= 0
	}

	return m.absolute != nil && within(m.absolute, big.NewFloat(1)) || m.relative != nil &&
		(within(m.relative, a) || m.ofEither && within(m.relative, b))
}

func newBig() *big.Float { return new(big.Float).SetPrec(marginBits) }

// big returns the number with its first digits. One that is too small even for this is the least that is not zero.
func (d decimal) big() *big.Float {
	f := newBig()
	if len(d.digits) == 0 {
		return f
	}

	text, exponent := make([]byte, 0, marginDigits+24), d.exponent
	for _, c := range d.digits {
		switch {
		case c == '.':
		case len(text) < marginDigits:
			text = append(text, c)
		default:
			exponent++
		}
	}

	text = strconv.AppendInt(append(text, 'e'), max(exponent, -marginExponent), 10)
	if _, _, err := f.Parse(string(text), 10); err != nil {
		return newBig() // never: these are digits
	}
	if d.negative {
		f.Neg(f)
	}
	return f
}

// underflows reports whether a decimal number is none of zero, although float64 has zero for it.
func underflows(token []byte, f float64) bool {
	if f != 0 {
		return false
	}
	if i := bytes.IndexAny(token, "eE"); i >= 0 {
		token = token[:i]
	}
	return bytes.ContainsAny(token, "123456789")
}
