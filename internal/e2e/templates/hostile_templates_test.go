package templates

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// TPL-01. A run writes to every page that it can, and tries to change the file that it began from: the
// next run from the same template finds it as it was.
func TestHostileTemplateIsNotWritable(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)
	digest := "import hashlib; print(hashlib.sha256(open('/proc/self/exe', 'rb').read()).hexdigest())"
	before := a.MustRun(t, harness.Py(digest))
	attack := a.MustRun(t, harness.Py(`
import ctypes, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what, f):
    try: print(what, f())
    except OSError as e: print(what, "refused")
exe = os.open("/proc/self/exe", os.O_RDONLY)
attempt("open", lambda: os.open("/proc/self/exe", os.O_RDWR))
attempt("open for append", lambda: os.open("/proc/self/exe", os.O_WRONLY | os.O_APPEND))
attempt("truncate", lambda: os.truncate("/proc/self/exe", 0))
attempt("ftruncate", lambda: os.ftruncate(exe, 0))
attempt("chmod", lambda: os.fchmod(exe, 0o777))
attempt("seals", lambda: fcntl.fcntl(exe, 1033, 1))
attempt("descriptor 3", lambda: os.lseek(3, 1, 0) if exe != 3 else os.lseek(4, 1, 0))
libc.mmap.restype = ctypes.c_void_p
print("shared mapping", "refused" if libc.mmap(None, 4096, 2, 1, exe, 0) == ctypes.c_void_p(-1).value else "made")
print("written")
import sys; sys.stdout.flush()
for line in open("/proc/self/maps").read().splitlines():
    span, mode = line.split()[:2]
    if "w" in mode and "[stack]" not in line:
        a, b = (int(x, 16) for x in span.split("-"))
        for page in range(a, b, 4096): libc.memset(ctypes.c_void_p(page), 255, 4096)
`))

	want := "open refused\nopen for append refused\ntruncate refused\nftruncate refused\nchmod refused\nseals " +
		"refused\ndescriptor 3 refused\nshared mapping refused\nwritten\n"
	if string(attack.Stdout) != want || attack.Verdict != api.Signaled || !attack.Host.Template {
		t.Errorf("%s, %+v: %s%s", attack.Verdict, attack.Host, attack.Stdout, attack.Stderr)
	}

	accessed := harness.Py("import os; print(os.stat('/proc/self/exe').st_atime_ns)") // TPL-13
	if one, two := a.MustRun(t, accessed), a.MustRun(t, accessed); !one.Host.Template || !two.Host.Template ||
		string(one.Stdout) != string(two.Stdout) || len(one.Stdout) < 10 {
		t.Errorf("a run sees that another one began: %q, %q", one.Stdout, two.Stdout)
	}

	after := a.MustRun(t, harness.Py(digest))
	if !before.Host.Template || !after.Host.Template || string(before.Stdout) != string(after.Stdout) || len(before.Stdout) != 65 {
		t.Errorf("the template changed: %q, %q", before.Stdout, after.Stdout)
	}
}

// TPL-01, a template of the dynamic loader's work: the same attack, by the system calls of Perl.
func TestHostileLoaderTemplateIsNotWritable(t *testing.T) {
	if !harness.Chosen("perl", harness.LanguageTests["perl"].OnlyAll) {
		t.Skip("only make test-languages runs perl")
	}

	a := harness.StartAgent(t)
	harness.Images.Load(t, a, "perl")
	perl := func(source string) api.Result {
		return a.MustRun(t, api.Run{Language: "perl", Source: api.Bytes(source)})
	}
	digest := `use Digest::SHA; print Digest::SHA->new(256)->addfile("/proc/self/exe")->hexdigest`
	before := perl(digest)
	attack := perl(`
sub attempt { my ($what, $done) = @_; print "$what ", $done ? "done" : "refused", "\n" }
attempt("descriptor 3", syscall(8, 3, 0, 1) == 0);
open my $exe, "<", "/proc/self/exe" or die;
attempt("open", open my $w, "+<", "/proc/self/exe");
attempt("open for append", open my $p, ">>", "/proc/self/exe");
attempt("truncate", truncate "/proc/self/exe", 0);
attempt("ftruncate", syscall(77, fileno $exe, 0) == 0);
attempt("chmod", chmod 0777, "/proc/self/exe");
attempt("seals", syscall(72, fileno $exe, 1033, 1) == 0);
attempt("shared mapping", syscall(9, 0, 4096, 2, 1, fileno $exe, 0) != -1);
open my $maps, "<", "/proc/self/maps";
my @writable = map { /^(\w+)-(\w+) .w/ && !/stack/ ? [hex $1, hex $2] : () } <$maps>;
open my $noise, "<", "/dev/urandom";
print "written\n";
$| = 1; print "";
for my $m (@writable) { for (my $at = $m->[0]; $at < $m->[1]; $at += 4096) { syscall(0, fileno $noise, $at, 4096) } }
print "not reached\n";
`)

	want := "descriptor 3 refused\nopen refused\nopen for append refused\ntruncate refused\nftruncate refused\nchmod " +
		"refused\nseals refused\nshared mapping refused\nwritten\n"
	if string(attack.Stdout) != want || attack.Verdict != api.Signaled || !attack.Host.Template {
		t.Errorf("%s, %+v: %s%s", attack.Verdict, attack.Host, attack.Stdout, attack.Stderr)
	}

	after := perl(digest)
	if !before.Host.Template || !after.Host.Template || string(before.Stdout) != string(after.Stdout) || len(before.Stdout) != 64 {
		t.Errorf("the template changed: %q, %q", before.Stdout, after.Stdout)
	}
}

// TPL-05. A run that has become another program holds the template's file and tries to open it for
// writing: while any process has, no other run could begin from it.
func TestHostileTemplateIsNotHeld(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)
	attack := a.MustRun(t, harness.Py(`
import os, sys
exe = os.open("/proc/self/exe", os.O_RDONLY)
os.set_inheritable(exe, True)
os.execv(sys.executable, [sys.executable, "-c", f"""
import os, time
print(os.readlink('/proc/self/exe') == {sys.executable!r} or os.readlink('/proc/self/exe'))
end = time.monotonic() + 1
while True: # another run may be executing the file for a moment
    try: os.open('/proc/self/fd/{exe}', os.O_RDWR); print('open'); break
    except PermissionError: print('refused'); break
    except OSError as e:
        if time.monotonic() > end: print(e); break
try: os.utime('/proc/self/fd/{exe}'); print('time set')
except OSError: print('refused')
"""])
`))
	if said := string(attack.Stdout); attack.Verdict != api.OK || !attack.Host.Template || !strings.HasSuffix(said, "\nrefused\nrefused\n") ||
		strings.HasPrefix(said, "/memfd") {
		t.Errorf("%s, %+v: %s%s", attack.Verdict, attack.Host, attack.Stdout, attack.Stderr)
	}
}

// TPL-06. A run whose own limits or arguments let no program begin, or no restore succeed, takes the
// template from no other run.
func TestHostileLimitsLeaveTheTemplate(t *testing.T) {
	a := harness.StartAgent(t)
	for language, source := range map[string]string{"python": "print(1)", "php": "<?php echo 1, PHP_EOL;"} {
		if !harness.Chosen(language, harness.LanguageTests[language].OnlyAll) {
			continue
		}

		harness.Images.Load(t, a, imageOf(t, language))
		usual := api.Run{Language: language, Source: api.Bytes(source)}
		if res := a.MustRun(t, usual); !res.Host.Template {
			t.Fatalf("%s: %+v", language, res.Host)
		}

		for name, change := range map[string]func(*api.Run){
			"three descriptors": func(r *api.Run) { r.Limits.OpenFiles = 3 },
			"four descriptors":  func(r *api.Run) { r.Limits.OpenFiles = 4 },
			"long arguments": func(r *api.Run) {
				r.Limits.Stack, r.Argv = 64*api.KiB, slices.Repeat([]string{strings.Repeat("x", 25)}, 4000)
			},
		} {
			t.Run(language+", "+name, func(t *testing.T) {
				hostile := usual
				change(&hostile)
				_, err := a.Client.Run(t.Context(), hostile)
				if long := name == "long arguments"; long != api.HasCode(err, api.CodeTooLarge) || !long && err != nil {
					t.Errorf("%v", err)
				}
				if res := a.MustRun(t, usual); !res.Host.Template || string(res.Stdout) != "1\n" {
					t.Errorf("after it another run has %+v: %s", res.Host, res.Stdout)
				}
			})
		}
	}
}

// TPL-10. A run holds few locks on the file of its template, which each other run closes once: the kernel
// then looks through all locks on it.
func TestHostileTemplateLocksAreFew(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)
	res := a.MustRun(t, harness.Py(`
import errno, fcntl
held = 0
with open("/proc/self/exe", "rb") as f:
    for i in range(2000):
        try: fcntl.lockf(f, fcntl.LOCK_SH, 1, 2 * i); held += 1
        except OSError as e: assert e.errno == errno.ENOLCK
    print(held)
`))

	var held int
	if _, err := fmt.Sscan(string(res.Stdout), &held); err != nil || !res.Host.Template || held > 64+250 || held < 16 {
		t.Errorf("%d locks, want about 64, %v: %s, %+v: %s", held, err, res.Verdict, res.Host, res.Stderr)
	}
}

// hostileInterpreter is the python3 of an image: asked for a template, it writes what MODE says. From a
// template, or without one, it prints how it was started.
const hostileInterpreter = `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void copy(const char *from, const char *to) {
	char b[65536]; ssize_t n; int r = open(from, O_RDONLY), w = open(to, O_CREAT | O_WRONLY, 0755);
	while ((n = read(r, b, sizeof b)) > 0) write(w, b, n);
}
int main(int argc, char **argv) {
	const char *to = getenv("BRIG_TEMPLATE");
	if (to) {
		if (!strcmp(MODE, "link")) symlink("/etc/passwd", to);
		else if (!strcmp(MODE, "fifo")) mkfifo(to, 0666);
		else if (!strcmp(MODE, "directory")) mkdir(to, 0777);
		else if (!strcmp(MODE, "large")) { int f = open(to, O_CREAT | O_WRONLY, 0755); for (int i = 0; i < 300; i++) ftruncate(f, (long)i << 20); }
		else if (!strcmp(MODE, "text")) { int f = open(to, O_CREAT | O_WRONLY, 0755); write(f, "ready", 5); }
		else if (!strcmp(MODE, "fails")) return 7;
		else if (!strcmp(MODE, "forever")) for (;;);
		else if (strcmp(MODE, "none")) copy("/proc/self/exe", to);
		return 0;
	}
	char source[4096] = ""; int f = open(argv[1], O_RDONLY); read(f, source, 4095); close(f);
	int template = fcntl(3, F_GETFD) >= 0;
	if (strstr(source, "print('ready')")) { puts("ready"); return 0; } // the trial
	if (template && !strcmp(MODE, "refuses")) { lseek(3, 2, SEEK_SET); _exit(120); }
	if (template && !strcmp(MODE, "forges")) { close(3); _exit(120); }
	printf("%s %d\n", template ? "template" : "ordinary", getuid());
	return 0;
}`

// TPL-02. An image whose interpreter writes anything but a template has the ordinary start, and its
// result says why. One that writes a program of its own gets that program executed, in the same sandbox.
// TPL-03. A template that refuses to begin, as restore does, gets the ordinary start, once; a program
// that exits as restore does gets its own verdict.
func TestHostileInterpreters(t *testing.T) {
	for mode, tt := range map[string]struct{ said, cold string }{
		"link":      {"ordinary 1000\n", "open the template"},
		"fifo":      {"ordinary 1000\n", "not a regular file"},
		"directory": {"ordinary 1000\n", "not a regular file"},
		"large":     {"ordinary 1000\n", "template"},
		"text":      {"ordinary 1000\n", "cannot be executed"},
		"fails":     {"ordinary 1000\n", "exit code 7"},
		"forever":   {"ordinary 1000\n", "limit"},
		"none":      {"ordinary 1000\n", "open the template"},
		"itself":    {"template 1000\n", ""},
		"refuses":   {"ordinary 1000\n", "in use"},
		"forges":    {"", ""},
	} {
		t.Run(mode, func(t *testing.T) {
			dir := harness.PublicDir(t, "brig-languages-")
			manifest := "name: hostile\nimage: hostile\nsource_file: main.py\nrun: [/python3, \"{source}\"]\ntemplates: [{kind: python}]\n"
			if err := os.WriteFile(filepath.Join(dir, "hostile.yaml"), []byte(manifest), 0o644); err != nil {
				t.Fatal(err)
			}

			flags := []string{"--languages", dir}
			if mode == "forever" { // a template is made within the ceilings, too
				flags = append(flags, "--max-cpu", harness.Slowly(2).String())
			}
			a := harness.StartAgent(t, flags...)
			a.ImportImage(t, "hostile", harness.CompileC(t, "python3", strings.ReplaceAll(hostileInterpreter, "MODE", `"`+mode+`"`)), 0o755)
			res, err := a.Run(t.Context(), api.Run{Language: "hostile", Source: api.Bytes("x")})
			if err != nil {
				t.Fatal(err)
			}
			if string(res.Stdout) != tt.said || !strings.Contains(res.Host.Cold, tt.cold) || res.Host.Template != (tt.cold == "") {
				t.Errorf("%s %d, %+v: %q", res.Verdict, res.ExitCode, res.Host, res.Stdout)
			}
			if forged := mode == "forges"; forged != (res.ExitCode == 120 && res.Verdict == api.Nonzero) {
				t.Errorf("%s %d", res.Verdict, res.ExitCode)
			}

			if mode == "refuses" { // its trial begins: it is refused to these settings alone, and is not tried again
				for _, settings := range []api.Run{{}, {Argv: []string{"y"}}} {
					settings.Language, settings.Source = "hostile", api.Bytes("x")
					again, err := a.Run(t.Context(), settings)
					if err != nil || string(again.Stdout) != tt.said || again.Host.Cold != res.Host.Cold {
						t.Errorf("again: %v, %s, %+v: %q", err, again.Verdict, again.Host, again.Stdout)
					}
				}
			}

			h, herr := a.Health(t.Context())
			if err := errors.Join(herr, a.RemoveImage(t.Context(), "hostile")); err != nil {
				t.Error(err)
			}
			if (h.Templates.Problem != "") != (tt.cold != "" && mode != "refuses") {
				t.Errorf("the agent reports %+v", h.Templates)
			}
		})
	}
}
