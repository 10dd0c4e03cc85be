package neighbours

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// CPU-44. A run holds few locks on files of its image, which its neighbours share: each of their
// execs closes some of those files, and the kernel then looks through all locks on the file. On its
// own files a run holds as many as before, and a run that takes and releases one lock at a time on
// a file of the image can do so without limit.
func TestLocksOfSharedFilesAreFew(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "shared", `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
	char *how = argv[1], *file = argv[2];
	int granted = 0, others = 0, fd = open(file, O_RDONLY);
	if (fd < 0) return 1;
	for (int i = 0; i < 2000; i++) {
		int failed;
		if (!strcmp(how, "records") || !strcmp(how, "returned")) {
			struct flock l = {.l_type = F_RDLCK, .l_start = !strcmp(how, "records") ? 2 * i : 0, .l_len = 1};
			failed = fcntl(fd, F_SETLK, &l);
			l.l_type = F_UNLCK;
			if (!strcmp(how, "returned")) failed |= fcntl(fd, F_SETLK, &l);
		} else {
			int f = open(file, O_RDONLY);
			if (f < 0) return 2;
			failed = flock(f, LOCK_SH | LOCK_NB);
			if (!strcmp(how, "mapped") && !failed && mmap(0, 4096, PROT_READ, MAP_SHARED, f, 0) == MAP_FAILED) return 3;
			if (strcmp(how, "open")) close(f);
		}
		if (!failed) granted++; else if (errno != ENOLCK) others++;
	}
	printf("%d %d\n", granted, others);
	return 0;
}`)

	for _, how := range []string{"records", "open", "mapped", "returned", "closed"} {
		for _, file := range []string{"/bin/busybox", "/box/shared"} {
			t.Run(how+" "+file, func(t *testing.T) {
				r := harness.Program(prog, how, file)
				r.Limits = api.Limits{Wall: harness.Slowly(20), CPU: harness.Slowly(20), OpenFiles: 4000}
				res := a.MustRun(t, r)
				harness.WantVerdict(t, res, api.OK)
				var granted, others int
				if _, err := fmt.Sscan(string(res.Stdout), &granted, &others); err != nil || others > 0 {
					t.Fatalf("%q: %v", res.Stdout, err)
				}

				t.Logf("%d of 2000 calls granted, refused %+v", granted, res.Refused)
				if held := how == "records" || how == "open" || how == "mapped"; file == "/box/shared" || !held {
					if granted != 2000 || len(res.Refused) > 0 {
						t.Errorf("%d calls granted, refused %+v; want all", granted, res.Refused)
					}
				} else if granted > 64+250 || granted < 16 || len(res.Refused) != 1 ||
					res.Refused[0].Errno != "ENOLCK" { // random checks find the first lock: once in 10 million not among 250
					t.Errorf("%d calls granted, refused %+v; want about 64, and ENOLCK", granted, res.Refused)
				}
			})
		}
	}

	// The same in a session, which has its own volume.
	id := a.NewSession(t, func(s *api.SessionRequest) {
		s.Volume = &api.VolumeRequest{Name: "locks", Size: api.VolumeSizeMin}
	}).ID
	if err := a.PutFile(t.Context(), id, "shared", bytes.NewReader(prog.Content), true); err != nil {
		t.Fatal(err)
	}

	a.WantOutput(t, id, "echo > /workspace/f; echo > /tmp/f; ./shared records /workspace/f; ./shared records /tmp/f", "2000 0\n2000 0\n")
	res := a.Shell(t, id, "./shared records /bin/busybox")
	var granted int
	if _, err := fmt.Sscan(string(res.Stdout), &granted); err != nil || granted > 64+250 || granted < 16 {
		t.Errorf("in a session: %q, %v; want about 64", res.Stdout, err)
	}
}
