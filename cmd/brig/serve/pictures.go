package serve

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// imageOf decodes a form that is a picture: text of SVG, otherwise base64, which may have several lines.
func imageOf(mime string, content json.RawMessage) ([]byte, error) {
	text, ok := textOf(content)
	switch {
	case !ok:
		return nil, errors.New("it is no text")
	case mime == "image/svg+xml":
		return []byte(text), nil
	}
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
}

// writePicture writes a file, and makes its directory if that is missing.
func writePicture(name string, image []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, image, 0o644)
}
