package rootfs

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// checkName accepts only image names that are safe as a file name and easy to type in a command:
// lower-case letters and digits, and ".", "_", "-", ":" after the first character; at most 128
// bytes.
func CheckName(name string) error {
	ok := name != "" && len(name) <= 128 && !strings.HasPrefix(name, "sha256:")
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		ok = ok && (letter || i > 0 && strings.IndexByte("._-:", c) >= 0)
	}
	if !ok {
		return fmt.Errorf("%w: image name %q: use at most 128 lower-case letters, digits, and . _ - : between them", ErrName,
			name)
	}
	return nil
}

// parseDigest returns the hex digits of a digest.
func ParseDigest(digest string) (string, error) {
	digits, ok := strings.CutPrefix(digest, "sha256:")
	if raw, err := hex.DecodeString(digits); !ok || err != nil || len(raw) != 32 || digits != strings.ToLower(digits) {
		return "", fmt.Errorf("image digest %q: it must be sha256: and 64 lower-case hex digits", digest)
	}
	return digits, nil
}
