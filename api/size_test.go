package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		want api.Size // 0: refused
	}{
		{"a plain number is bytes", "4096", 4096},
		{"one byte is the least", "1", 1},
		{"B is bytes", "12B", 12},
		{"K", "4K", 4 * api.KiB},
		{"small letters", "512m", 512 * api.MiB},
		{"MB is not a power of ten", "512MB", 512 * api.MiB},
		{"MiB", "512MiB", 512 * api.MiB},
		{"G", "2G", 2 * api.GiB},
		{"T", "1T", 1024 * api.GiB},
		{"a fraction", "1.5G", 1536 * api.MiB},
		{"space around it", " 8M ", 8 * api.MiB},
		{"the largest power that fits", "4194304T", 1 << 62},

		{"zero", "0", 0},
		{"zero with a unit", "0M", 0},
		{"less than a byte", "0.1", 0},
		{"negative", "-1", 0},
		{"negative with a unit", "-5M", 0},
		{"nothing", "", 0},
		{"a unit alone", "M", 0},
		{"B alone", "B", 0},
		{"hexadecimal", "0x10", 0},
		{"an exponent", "1e9", 0},
		{"an underscore", "1_000", 0},
		{"not a number", "NaN", 0},
		{"infinity", "Inf", 0},
		{"infinity with a unit", "InfM", 0},
		{"the first that does not fit 63 bits", "9223372036854775808", 0},
		{"a unit that makes it overflow", "8388608T", 0},
		{"absurdly large", "99999999999999999999999999T", 0},
		{"two units", "5MK", 0},
		{"a unit of another kind", "5X", 0},
		{"words", "lots", 0},
		{"a repeated ending", "5MiBiB", 0},
		{"an ending without its unit", "5iB", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := api.ParseSize(tt.in)
			if got != tt.want || (err == nil) != (tt.want != 0) {
				t.Errorf("ParseSize(%q) = %d, %v; want %d", tt.in, got, err, tt.want)
			}
			if err != nil {
				return
			}
			if back, err := api.ParseSize(got.String()); err != nil || back != got {
				t.Errorf("%s is read back as %d, %v; want %d", got, back, err, got)
			}
		})
	}
}

func TestSizeInJSON(t *testing.T) {
	for in, want := range map[string]api.Size{
		`"512M"`: 512 * api.MiB, `1000`: 1000,
		`0`: 0, `-1`: 0, `"0x10"`: 0, `1e3`: 0, `null`: 0, `true`: 0, `{}`: 0, `"NaN"`: 0, `9223372036854775808`: 0,
	} {
		var got api.Size
		err := json.Unmarshal([]byte(in), &got)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%s: %d, %v; want %d", in, got, err, want)
		}
	}

	if b, err := json.Marshal(512 * api.MiB); string(b) != "536870912" {
		t.Errorf("512M is written %s, %v; want a number of bytes", b, err)
	}
}

func TestParseDuration(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		want time.Duration // 0: refused
	}{
		{"with a unit", "1.5s", 1500 * time.Millisecond},
		{"milliseconds", "200ms", 200 * time.Millisecond},
		{"minutes and seconds", "1m30s", 90 * time.Second},
		{"a bare number is seconds", "2", 2 * time.Second},
		{"a bare fraction", "0.25", 250 * time.Millisecond},

		{"zero", "0", 0},
		{"zero with a unit", "0s", 0},
		{"negative", "-1", 0},
		{"negative with a unit", "-1s", 0},
		{"nothing", "", 0},
		{"not a number", "NaN", 0},
		{"infinity", "Inf", 0},
		{"an exponent", "1e308", 0},
		{"an exponent with a unit", "1e9s", 0},
		{"hexadecimal", "0x10", 0},
		{"2^63 ns", "9223372036854775808ns", 0},
		{"seconds that overflow", "9223372037", 0},
		{"far more", "99999999999999999999", 0},
		{"a unit alone", "s", 0},
		{"another unit", "3d", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := api.ParseDuration(tt.in)
			if time.Duration(got) != tt.want || (err == nil) != (tt.want != 0) {
				t.Errorf("ParseDuration(%q) = %v, %v; want %v", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestDurationInJSON(t *testing.T) {
	for in, want := range map[string]time.Duration{
		`"1.5s"`: 1500 * time.Millisecond, `"1m"`: time.Minute,
		`1.5`: 0, `"1.5"`: 0, `0`: 0, `"0s"`: 0, `"-1s"`: 0, `"NaN"`: 0, `null`: 0, `"1e9s"`: 0,
	} {
		var got api.Duration
		err := json.Unmarshal([]byte(in), &got)
		if time.Duration(got) != want || (err == nil) != (want != 0) {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}

	if b, err := json.Marshal(api.Duration(1500 * time.Millisecond)); string(b) != `"1.5s"` {
		t.Errorf("written %s, %v; want 1.5s", b, err)
	}
}

func TestBytesLoseNothing(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}

	for _, tt := range []struct {
		name string
		in   string
		text bool
	}{
		{"nothing", "", true},
		{"text", "hello\n", true},
		{"text of other scripts", "Grüße 世界 🎉", true},
		{"NUL and control bytes", "\x00\x01\x1b[0m\x7f", true},
		{"line separators, which JSON may escape", "a\u2028b<>&", true},
		{"a replacement character that is really there", "\ufffd", true},
		{"half a character", "\xe4\xb8", false},
		{"a surrogate", "\xed\xa0\x80", false},
		{"every byte", string(every), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := json.Marshal(api.Bytes(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if (b[0] == '"') != tt.text {
				t.Errorf("written %s; want text: %v", b, tt.text)
			}
			var back api.Bytes
			if err := json.Unmarshal(b, &back); err != nil || string(back) != tt.in {
				t.Errorf("%s is read back as %q, %v; want %q", b, back, err, tt.in)
			}
		})
	}

	for _, in := range []string{`1`, `{}`, `{"base64":"%%"}`, `{"base64":1}`, `["a"]`} {
		var b api.Bytes
		if err := json.Unmarshal([]byte(in), &b); err == nil {
			t.Errorf("%s is read as %q; want an error", in, b)
		}
	}
}

// Encoded output is at most twice as long as the original, and at most a third longer if it is
// long, for any content. Short text stays text.
func TestEncodedBytesHaveABoundedSize(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		text bool
	}{
		{"short control characters", strings.Repeat("\x00", 1<<10), true},
		{"control characters", strings.Repeat("\x00", 1<<10+1), false},
		{"as many as a test's result carries", strings.Repeat("\x01", 64<<10), false},
		{"a control character in five", strings.Repeat("\x01text", 1<<10), true},
		{"short lines", strings.Repeat("1\n", 32<<10), true},
		{"empty lines", strings.Repeat("\n", 64<<10), true},
		{"long text", strings.Repeat("text\n", 100_000), true},
		{"long quoted text", strings.Repeat(`say "yes"`+"\n", 50_000), true},
		{"long control characters", strings.Repeat("\x00", 64<<10+1), false},
		{"long markup and nothing else", strings.Repeat("<", 100_000), false},
		{"long empty lines", strings.Repeat("\n", 100_000), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := json.Marshal(api.Bytes(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if (b[0] == '"') != tt.text {
				t.Errorf("written as %.20s...", b)
			}
			if maximum := len(tt.in)*2 + 2; len(tt.in) > 1<<10 && len(b) > maximum || len(tt.in) > 64<<10 && len(b) > maximum/4*3 {
				t.Errorf("%d bytes became %d", len(tt.in), len(b))
			}

			var back api.Bytes
			if err := json.Unmarshal(b, &back); err != nil || string(back) != tt.in {
				t.Errorf("%d bytes came back, %v; want %d", len(back), err, len(tt.in))
			}
		})
	}
}

// Sizes in errors always have a unit: the digits of 1078359384 are hard to count.
func TestSizesOfErrorsHaveAUnit(t *testing.T) {
	for size, want := range map[api.Size]string{
		1078359384: "1028.4M", 512 * api.MiB: "512M", 2 * api.GiB: "2G", 1536 * api.KiB: "1.5M", 3 * api.KiB: "3K", 1500: "1.5K",
		12: "12 bytes", 0: "0 bytes",
	} {
		if got := size.About(); got != want {
			t.Errorf("%d: %s; want %s", int64(size), got, want)
		}
		for _, err := range []error{api.Refuse(api.CodeTooLarge, "%s of memory, %v, %5d", size, size, size),
			api.Fail(api.CodeBusy, "%s of memory, %v, %5d", size, size, size)} {
			if text := fmt.Sprintf("%s of memory, %s, %5d", want, want, int64(size)); err.Error() != text {
				t.Errorf("%q; want %q", err, text)
			}
		}
	}
}
