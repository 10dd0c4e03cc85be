package core

import "bytes"

// What the values in a body's JSON take in bytes, in addition to their texts
// (TestBodyCostCoversItsValues): a body of 12 MB with four million empty arguments makes 80 MB of
// lists, one of 12 KB makes a mebibyte of tests (API-15).
const (
	costOfEntry  = 24  // an entry of a list of texts; the list grows by a quarter
	costOfMember = 64  // a member of an object; in env it is an entry of a map
	costOfObject = 384 // a test is the largest, and its list grows too

	freeCost = 32 << 10 // this much of it is free in each body: the largest body fits into the quota as if it were one text
)

// A BodyCost is how much memory a body needs, as far as it has arrived: for its bytes, or for its
// values with their lists and maps. It need not be JSON.
type BodyCost struct {
	Total   int64
	lists   int64 // cost of lists and objects, as far as it is not in total
	text    bool  // inside of a string
	escaped bool  // the next byte is part of an escape
}

// Add counts more of the body.
func (c *BodyCost) Add(p []byte) {
	c.Total += int64(len(p))
	defer c.addExcess()

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

// addExcess moves the cost above freeCost to total.
func (c *BodyCost) addExcess() {
	if over := c.lists - freeCost; over > 0 {
		c.Total, c.lists = c.Total+over, freeCost
	}
}
