package gateway

import "bytes"

// What a body's JSON comes to beside its texts, in bytes (TestABodyCountsWhatItSays): one of
// 12 MB with four million empty arguments makes 80 MB of lists, one of 12 KB a mebibyte of
// tests (API-15).
const (
	costOfEntry  = 24  // of a list of texts, which grows by a quarter
	costOfMember = 64  // a name in an object: of env it is an entry of a map
	costOfObject = 320 // a test is the largest, and its list grows too

	freeOfCost = 32 << 10 // of these of one body: the largest body has room as if it were one text
)

// A bodyCost is how much memory a body needs, as far as it has come: as it came, or as what it
// says, with the lists and maps of that. It need not be JSON.
type bodyCost struct {
	total   int64
	lists   int64 // what they come to, as far as it is not in total
	text    bool  // inside of a string
	escaped bool  // the next byte is part of an escape
}

func (c *bodyCost) add(p []byte) {
	c.total += int64(len(p))
	defer c.settle()
	for i := 0; i < len(p); i++ {
		if c.text {
			if c.escaped {
				c.escaped = false
				continue
			}
			next := bytes.IndexAny(p[i:], `"\`)
			if next < 0 {
				return
			}
			i += next
			c.text, c.escaped = p[i] == '\\', p[i] == '\\'
			continue
		}
		switch p[i] {
		case '"':
			c.text = true
		case ',':
			c.lists += costOfEntry
		case ':':
			c.lists += costOfMember
		case '{':
			c.lists += costOfObject
		}
	}
}

// settle has in total what is over freeOfCost.
func (c *bodyCost) settle() {
	if over := c.lists - freeOfCost; over > 0 {
		c.total, c.lists = c.total+over, freeOfCost
	}
}
