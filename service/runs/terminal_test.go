package runs

import "testing"

// A screen keeps no more than its bound, and no more than there is memory for, and says that it is cut.
func TestScreen(t *testing.T) {
	for name, tt := range map[string]struct {
		most, memory int
		pieces       []string
		kept         string
		cut          bool
	}{
		"nothing":            {4, 100, nil, "", false},
		"empty pieces":       {0, 0, []string{"", ""}, "", false},
		"all of it":          {4, 100, []string{"a", "bc", "d"}, "abcd", false},
		"more than it may":   {4, 100, []string{"abc", "de", "f"}, "abcd", true},
		"without a byte":     {0, 100, []string{"a"}, "", true},
		"without memory":     {4, 2, []string{"ab", "c", "d"}, "ab", true},
		"no memory, smaller": {9, 2, []string{"abc", "d"}, "", true},
	} {
		left := tt.memory
		s := &screen{most: tt.most, keep: func(n int) bool {
			if n > left {
				return false
			}
			left -= n
			return true
		}}
		for _, p := range tt.pieces {
			if n, err := s.Write([]byte(p)); n != len(p) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		if string(s.kept) != tt.kept || s.cut != tt.cut {
			t.Errorf("%s: %q, cut %v; want %q, %v", name, s.kept, s.cut, tt.kept, tt.cut)
		}
	}
}
