package image

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Like those of cellinit, the messages of imagefiles are defined by hand in both languages.
func TestImageMessagesAreTheSame(t *testing.T) {
	const program = `#include "imagefiles.h"
int printf(const char *, ...);
int main(void) { printf("size %lu, kinds %d %d %d %d %d, last step %d, lock %d\n", sizeof(struct word5),
	KIND_IMAGE_FAILED, KIND_IMAGE_WANTED, KIND_IMAGE_GRANT, KIND_IMAGE_HELD, KIND_IMAGE_COPIED, IMAGE_STEP_KIND, IMAGE_STEP_LOCK); }`

	dir := t.TempDir()
	src, bin := filepath.Join(dir, "words.c"), filepath.Join(dir, "words")
	if err := os.WriteFile(src, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-I", "imagefiles", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}

	got, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}

	lock := 0
	for i, name := range imageSteps {
		if name == "lock" {
			lock = i
		}
	}

	want := fmt.Sprintf("size %d, kinds %d %d %d %d %d, last step %d, lock %d\n", binary.Size(imageMessage{}),
		imageFailed, imageWanted, imageGrant, imageHeld, imageCopied, len(imageSteps)-1, lock)
	if string(got) != want {
		t.Errorf("C says %q; want %q", got, want)
	}
}
