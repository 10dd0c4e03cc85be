package problems

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Of a problem of DMOJ, large inputs have the line ends of Unix, too, and sources begin with what its grader
// of functions needs.
func TestProblemsOfDMOJ(t *testing.T) {
	dos := strings.ReplaceAll(large, "\n", "\r\n")
	stored := put(t, opened(t, t.TempDir()), "ann", "twice", map[string]string{
		"init.yml": "signature_grader: {entry: entry.cpp, header: h.h}\ntest_cases: [{in: 1.in, out: 1.out}, {in: " +
			"1.in, out: 1.out, binary_data: true}]\n",
		"1.in": dos, "1.out": "1", "entry.cpp": "main", "h.h": "h",
	})
	p, err := stored.Problem()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Blobs()) != 2 {
		t.Fatalf("blobs %+v", p.Blobs())
	}

	for i, want := range []string{large, dos} {
		b := p.Blobs()[i]
		in, err := stored.Blob(b)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		_, err = text.ReadFrom(in)
		if sum := sha256.Sum256(text.Bytes()); err != nil || in.Close() != nil || text.String() != want ||
			hex.EncodeToString(sum[:]) != b.Digest || b.Size != int64(len(want)) {
			t.Errorf("blob %+v has %d bytes, %v; want %d", b, text.Len(), err, len(want))
		}
	}

	r, err := p.Run(api.Run{Language: "cpp", Source: api.Bytes("int twice;"), Limits: api.Limits{CPU: 1e9}}, "cpp", api.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(r.Source); !strings.HasPrefix(text, "#define SIGNATURE_GRADER\n#include \"h.h\"\n") ||
		!strings.HasSuffix(text, "#line 1\nint twice;") || len(r.Files) != 2 || r.Files[0].Name != "signature_entry.cpp" {
		t.Errorf("source %q, files %+v", text, r.Files)
	}
	if _, err := p.Run(api.Run{Language: "python", Source: api.Bytes("x"), Limits: api.Limits{CPU: 1e9}}, "python",
		api.Limits{}); err == nil || !strings.Contains(err.Error(), "does not take python, only cpp") {
		t.Errorf("python: %v", err)
	}
}
