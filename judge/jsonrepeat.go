package judge

import (
	"encoding/binary"
	"math/bits"
)

// This file compares what most values of two texts are: the same bytes. It reads both at once, and gives
// up where they differ or where a closer look is needed, without having read anything.

// repeats reads a value, if it is neither array nor object and has the same bytes in both texts.
func (v *jsonPair) repeats() bool {
	n := sameScalar(v.a.all[v.a.at:], v.b.all[v.b.at:])
	v.a.at, v.b.at = v.a.at+n, v.b.at+n
	return n > 0
}

// repeatsMember reads a name, its colon and a value, if repeats would.
func (v *jsonPair) repeatsMember() bool {
	i, j, ok := v.afterName()
	if !ok {
		return false
	}
	a, b := spaceEnd(v.a.all, i), spaceEnd(v.b.all, j)
	n := sameScalar(v.a.all[a:], v.b.all[b:])
	if n == 0 {
		return false
	}
	v.a.at, v.b.at = a+n, b+n
	return true
}

// repeatsName reads a name and its colon.
func (v *jsonPair) repeatsName() bool {
	i, j, ok := v.afterName()
	if ok {
		v.a.at, v.b.at = i, j
	}
	return ok
}

func (v *jsonPair) afterName() (i, j int, ok bool) {
	a, b := v.a.all, v.b.all
	i, j = v.a.at, v.b.at
	if i == len(a) || j == len(b) || a[i] != '"' || b[j] != '"' {
		return 0, 0, false
	}
	n := sameStringText(a[i:], b[j:])
	i, j = spaceEnd(a, i+n), spaceEnd(b, j+n)
	if n == 0 || i == len(a) || j == len(b) || a[i] != ':' || b[j] != ':' {
		return 0, 0, false
	}
	return i + 1, j + 1, true
}

// repeatsElements reads small integers that other elements of an array follow.
func (v *jsonPair) repeatsElements() {
	a, b, i, j := v.a.all, v.b.all, v.a.at, v.b.at
	for len(a)-i >= 8 && len(b)-j >= 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[j:])
		n := bits.TrailingZeros64(noDigit(x)) >> 3
		if n == 0 || n == 8 || a[i+n] != ',' || (x^y)<<(56-8*n) != 0 {
			return
		}
		i, j = spaceEnd(a, i+n+1), spaceEnd(b, j+n+1)
		if i == len(a) || j == len(b) || a[i] == ']' || b[j] == ']' {
			return
		}
		v.a.at, v.b.at = i, j
	}
}

// spaceEnd returns where the white space ends that begins at an index.
func spaceEnd(text []byte, at int) int {
	if at < len(text) && text[at] > ' ' {
		return at
	}
	return spacesEnd(text, at)
}

func spacesEnd(text []byte, at int) int {
	for at < len(text) && isSpace(text[at]) {
		at++
	}
	return at
}

// sameScalar returns the length of a value with which both texts begin; 0: a closer look is needed.
func sameScalar(a, b []byte) int {
	if len(a) == 0 || len(b) == 0 || a[0] != b[0] {
		return 0
	}

	switch c := a[0]; {
	case c == '"':
		return sameStringText(a, b)
	case c == '-' || c-'0' <= 9:
		return sameNumberText(a, b)
	case c == 't':
		return sameName(a, b, "true")
	case c == 'f':
		return sameName(a, b, "false")
	case c == 'n':
		return sameName(a, b, "null")
	}

	return 0
}

func sameName(a, b []byte, name string) int {
	n := len(name)
	if len(a) <= n || len(b) <= n || string(a[:n]) != name || string(b[:n]) != name || !endsWord[a[n]] || !endsWord[b[n]] {
		return 0
	}
	return n
}

// sameNumberText is sameScalar for digits with at most one point, perhaps after a sign.
func sameNumberText(a, b []byte) int {
	n := 0
	if a[0] == '-' {
		n = 1
	}

	whole := sameDigits(a, b, n)
	end := n + whole
	if end < len(a) && a[end] == '.' && end < len(b) && b[end] == '.' {
		fraction := sameDigits(a, b, end+1)
		whole += fraction
		end += 1 + fraction
	}
	if whole == 0 || end >= len(a) || end >= len(b) || !endsWord[a[end]] || !endsWord[b[end]] {
		return 0
	}
	return end
}

// sameDigits returns how many digits both texts have from an index on.
func sameDigits(a, b []byte, from int) int {
	n := from
	for len(a)-n >= 8 && len(b)-n >= 8 {
		x, y := binary.LittleEndian.Uint64(a[n:]), binary.LittleEndian.Uint64(b[n:])
		end := bits.TrailingZeros64(noDigit(x) | (x ^ y))
		n += end >> 3
		if end < 64 {
			return n - from
		}
	}

	for n < len(a) && n < len(b) && a[n] == b[n] && a[n]-'0' <= 9 {
		n++
	}
	return n - from
}

// sameStringText is sameScalar for strings without escapes.
func sameStringText(a, b []byte) int {
	n := 1
	for len(a)-n >= 8 && len(b)-n >= 8 {
		x, y := binary.LittleEndian.Uint64(a[n:]), binary.LittleEndian.Uint64(b[n:])
		end := bits.TrailingZeros64(is(x, '"') | is(x, '\\') | is(x, '\n'))
		if x != y && end >= bits.TrailingZeros64(x^y) {
			return 0
		}
		n += end >> 3
		if end < 64 {
			if a[n] == '"' {
				return n + 1
			}
			return 0
		}
	}

	for n < len(a) && n < len(b) && a[n] == b[n] {
		switch a[n] {
		case '"':
			return n + 1
		case '\\', '\n':
			return 0
		}
		n++
	}

	return 0
}
