package harness

import (
	"fmt"
)

// Post is a POST request as it goes over a connection.
func Post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}
