package terminal

import "io"

// A Raw forwards what a program writes to a terminal, unchanged, and knows whether the terminal may have been told to
// treat what follows as other than text.
type Raw struct {
	To      io.Writer
	control bool // since the last End, a byte was written that begins a control sequence
	last    byte
}

func (r *Raw) Write(p []byte) (int, error) {
	for _, b := range p {
		r.control = r.control || begins(r.last, b)
		r.last = b
	}
	return r.To.Write(p)
}

// begins reports whether a byte after last may begin a control sequence, in UTF-8 or in an encoding of single bytes, or
// asks for the name of the terminal. Other parts of letters in UTF-8 do not.
func begins(last, b byte) bool {
	const esc, shiftOut, enquiry = 0x1b, 0x0e, 0x05
	return b == esc || b == shiftOut || b == enquiry || b >= 0x80 && b < 0xa0 && (last < 0x80 || last == 0xc2)
}

// text makes a terminal show what follows, whatever a program has left: CAN gives up a sequence that has not ended and
// ST ends a string where CAN does not; then the printer gets no text, and the letters are those of ASCII, not hidden,
// and continue in the next line at the end of a line. None of this moves the cursor.
const text = "\x18\x1b\\" + "\x1b[4i" + "\x0f\x1b(B" + "\x1b[m" + "\x1b[?7h"

// End makes the terminal show what others write to it as text, if the program has written a control sequence, and
// reports whether it has. An unfinished one takes all that follows for itself, such as why the program was ended
// (TTY-13, TestWordsAfterAProgramAreShown).
func (r *Raw) End() (control bool) {
	if !r.control {
		return false
	}
	r.control = false
	_, _ = io.WriteString(r.To, text) // a terminal that has gone does not show what follows either
	return true
}
