package judge

import (
	"bytes"
	"strconv"
)

// A decimal is a decimal number of any size: digits times ten to the power of exponent. The digits are
// in the text, and have neither zeros nor a point at their ends.
type decimal struct {
	negative bool
	digits   []byte // with perhaps a point inside; empty: zero
	exponent int64  // of the last digit
	word     string // inf or nan: not a number; empty: a number
}

// maxExponent bounds the exponents that are understood: a token with a larger one is text.
const maxExponent = 1 << 40

// parseDecimal reads a whole token: a sign, digits with a point, and an exponent; or inf, infinity, nan
// in any case.
func parseDecimal(token []byte) (d decimal, ok bool) {
	if len(token) > 0 && (token[0] == '-' || token[0] == '+') {
		d.negative, token = token[0] == '-', token[1:]
	}

	switch {
	case len(token) > 0 && token[0] < 'A': // a digit or the point
	case equalFoldASCII(token, []byte("inf")), equalFoldASCII(token, []byte("infinity")):
		d.word = "inf"
		return d, true
	case equalFoldASCII(token, []byte("nan")):
		d.word = "nan"
		return d, true
	}

	mantissa := token
	if i := max(bytes.IndexByte(token, 'e'), bytes.IndexByte(token, 'E')); i >= 0 {
		mantissa = token[:i]
		e, err := strconv.ParseInt(string(token[i+1:min(len(token), i+21)]), 10, 64)
		if err != nil || len(token) > i+21 || e > maxExponent || e < -maxExponent {
			return d, false
		}
		d.exponent = e
	}

	point, digits := -1, 0
	for i, c := range mantissa {
		switch {
		case c-'0' <= 9:
			digits++
		case c == '.' && point < 0:
			point = i
		default:
			return d, false
		}
	}

	if digits == 0 {
		return d, false
	}
	if point >= 0 {
		d.exponent -= int64(len(mantissa) - point - 1)
		mantissa = trimZerosRight(&d, mantissa, point)
	} else {
		mantissa = trimZerosRight(&d, mantissa, len(mantissa))
	}

	d.digits = bytes.TrimLeft(mantissa, "0.")
	if len(d.digits) == 0 {
		return decimal{}, true // zero has neither sign nor exponent
	}
	return d, true
}

// trimZerosRight takes zeros off the end of a mantissa, and counts them in the exponent.
func trimZerosRight(d *decimal, mantissa []byte, point int) []byte {
	for len(mantissa) > 0 {
		switch last := len(mantissa) - 1; {
		case mantissa[last] == '0':
			d.exponent++
		case last == point: // the point itself
		default:
			return mantissa
		}
		mantissa = mantissa[:len(mantissa)-1]
	}
	return mantissa
}

// equal reports whether two numbers are the same. NaN is not.
func (d decimal) equal(o decimal) bool {
	if d.word != "" || o.word != "" {
		return d.word == "inf" && o.word == "inf" && d.negative == o.negative
	}
	if d.negative != o.negative || d.exponent != o.exponent {
		return false
	}

	a, b := d.digits, o.digits
	for {
		if len(a) > 0 && a[0] == '.' {
			a = a[1:]
		}
		if len(b) > 0 && b[0] == '.' {
			b = b[1:]
		}
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if a[0] != b[0] {
			return false
		}

		a, b = a[1:], b[1:]
	}
}
