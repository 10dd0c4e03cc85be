package problem

import "fmt"

// Count is a number of things in words, such as "1 test" and "2 tests".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
