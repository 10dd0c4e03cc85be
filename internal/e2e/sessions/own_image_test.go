package sessions

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// ownImage makes a session whose programs own the image of Python, a Debian.
func ownImage(t *testing.T, a *harness.Agent, change func(s *api.SessionRequest)) api.Session {
	t.Helper()
	return a.NewSession(t, func(s *api.SessionRequest) {
		s.Image, s.Language, s.OwnImage = "", "python", true
		s.Limits = api.Limits{Memory: 256 * api.MiB, Scratch: 64 * api.MiB}
		if change != nil {
			change(s)
		}
	})
}

// OWN-04: a build as in a Dockerfile: it writes where root writes, changes and removes files of the image, and believes that it
// is root. The next session, and one next to it, have the image as it was.
func TestOwnImage(t *testing.T) {
	a := harness.StartAgent(t)
	s := ownImage(t, a, nil)
	other := ownImage(t, a, nil)
	a.WantOutput(t, s.ID, "id -u; id -g; whoami; echo $HOME; stat -c '%u %g %U' /etc/passwd /usr /box", "0\n0\nroot\n/root\n"+
		strings.Repeat("0 0 root\n", 3))

	a.WantOutput(t, s.ID, `set -e
mkdir -p /app /tests /logs/verifier /usr/local/lib /usr/local/bin
cd /app
python3 -m venv --without-pip /app/venv
printf 'def f():\n    return 42\n' > /usr/local/lib/m.py
install -o root -g root -m 755 /dev/null /usr/local/bin/tool
printf '#!/bin/sh\nPYTHONPATH=/usr/local/lib exec /app/venv/bin/python3 -c "import m; print(m.f())"\n' > /usr/local/bin/tool
tar -cf /logs/x.tar --owner=33 --group=44 -C /usr/local bin/tool
tar -xf /logs/x.tar -C /tests --same-owner
chown -R 33:33 /tests
stat -c %u:%g /tests/bin/tool
echo 1 > /logs/verifier/reward.txt
echo mine > /root/mine
echo 'app:x:33:33::/app:/bin/sh' >> /etc/passwd
rm /etc/group
rm -r /usr/share/doc /usr/share/zoneinfo 2>/dev/null || true
mv /etc/passwd /etc/passwd.old; mv /etc/passwd.old /etc/passwd
tool; cat /logs/verifier/reward.txt`, "0:0\n42\n1\n")
	a.WantOutput(t, s.ID, "tool; cat /root/mine; tail -1 /etc/passwd; test ! -e /etc/group && echo gone",
		"42\nmine\napp:x:33:33::/app:/bin/sh\ngone\n")

	look := "test -s /etc/group && ! grep -q app /etc/passwd && ls -d /app /tests /logs /root/mine /usr/local/bin/tool 2>/dev/null | wc -l"
	a.WantOutput(t, other.ID, look, "0\n")
	if err := a.DeleteSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	a.WantOutput(t, ownImage(t, a, nil).ID, look, "0\n")
}

// ctypes is the beginning of programs that make calls themselves: call returns the number of the error, or 0.
const ctypes = `
import ctypes, os, sys, stat
libc = ctypes.CDLL(None, use_errno=True)
def call(nr, *args):
    ctypes.set_errno(0)
    args = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in args]
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(nr), *args) < 0 else 0
def tries(f, *args):
    try: f(*args)
    except OSError as e: return e.errno
    return 0
`

// OWN-01 to OWN-10: being called root gives a program nothing. Each case has what it is refused next to what it may.
func TestHostileOwnImage(t *testing.T) {
	a := harness.StartAgent(t)
	s := ownImage(t, a, nil)
	for _, tt := range []struct{ id, code, want string }{
		{"OWN-01", `
os.chmod("/usr/bin/env", 0o6755) # OWN-07: a set-id program of root, in the layer
def caps(command):
    return {l for l in os.popen(command).read().split("\n") if l.startswith(("Cap", "NoNew"))}
mine = caps("cat /proc/self/status")
print(len(mine), {l.split()[1].strip("0") for l in mine if l.startswith("Cap")}, mine == caps("/usr/bin/env cat /proc/self/status"))
print(call(126, b"\x22\x05\x08\x20\0\0\0\0", b"\xff"*24) > 0, call(157, 28, 0, 0, 0, 0) > 0, call(161, b"/tmp") > 0) # capset, securebits, chroot`,
			"6 {''} True\nTrue True True"},
		{"OWN-02", `
open("/etc/owned", "w").close()
print(tries(os.chown, "/etc/owned", 33, 44), os.stat("/etc/owned").st_uid, tries(os.chown, "/dev/null", 0, 0), os.stat("/dev/null").st_uid)
print(tries(os.setgroups, [1, 2]), tries(os.setresgid, 5, 5, 5), tries(os.setresuid, 5, 5, 5), os.getresuid(), os.getresgid(), len(os.getgroups()))
print(open("/proc/self/uid_map").read().split(), tries(open, "/proc/self/uid_map", "w"))`,
			"0 0 0 65534\n0 0 0 (0, 0, 0) (0, 0, 0) 0\n['0', '1000', '1'] 30"},
		{"OWN-03", `
print([tries(os.mknod, "/root/node", mode | 0o600, os.makedev(*dev)) for mode, dev in
    ((stat.S_IFCHR, (1, 3)), (stat.S_IFBLK, (7, 0)), (stat.S_IFCHR, (0, 0)))], tries(os.mkfifo, "/root/fifo"))`, "[1, 1, 1] 0"},
		{"OWN-05", `
print([call(272, f) for f in (0x10000000, 0x20000, 0x40000000, 0x20000000)], call(56, 0x10000011, 0, 0, 0, 0)) # unshare, clone
f = os.open("/proc/self/ns/user", os.O_RDONLY)
print(call(308, f, 0), call(165, b"none", b"/box", b"tmpfs", 0, 0), call(166, b"/proc", 2), tries(os.mkdir, "/made")) # setns, mount, umount2`,
			"[1, 1, 1, 1] 1\n1 1 1 0"},
		{"OWN-08", `
os.makedirs("/etc/own"); open("/etc/own/f", "w").close()
print({tries(os.setxattr, p, n, b"/etc") for p in ("/etc/own", "/etc/own/f") for n in
    ("trusted.overlay.redirect", "trusted.overlay.opaque", "trusted.overlay.metacopy", "user.overlay.redirect", "security.capability")})
print(tries(os.rename, "/usr/lib", "/usr/lib2"), tries(os.rename, "/etc/own", "/etc/own2"), tries(os.rename, "/etc/own2", "/tmp/own2"))
os.rename("/etc/group", "/etc/moved")
os.link("/usr/bin/env", "/etc/env2"); print(os.stat("/etc/env2").st_uid)`,
			"{95}\n18 0 18\n0"},
		{"OWN-10", `
print(sorted(int(p) for p in os.listdir("/proc") if p.isdigit())[0] > 1, tries(os.kill, 1, 9), tries(os.listdir, "/proc/1"))
print(tries(open, "/proc/self/oom_score_adj", "w"), tries(open, "/proc/sys/kernel/hostname", "w") > 0, tries(open, "/dev/mem") > 0,
    call(170, b"x", 1)) # sethostname
print(tries(open, "/dev/null", "w"), tries(os.remove, "/dev/null") > 0)`,
			"True 1 2\n30 True True 1\n0 True"},
	} {
		res := a.MustExec(t, s.ID, api.Exec{Argv: []string{"python3", "-c", ctypes + tt.code}})
		if got := strings.TrimSpace(string(res.Stdout)); res.Verdict != api.OK || got != tt.want {
			t.Errorf("%s: %s, %q (stderr %.600q); want %q", tt.id, res.Verdict, got, res.Stderr, tt.want)
		}
	}

	// The control of OWN-02: a program that owns files, but is not called root, is told the truth.
	w := a.NewSession(t, func(s *api.SessionRequest) {
		s.Image, s.Language, s.WritableRoot, s.Limits.Memory = "", "python", true, 256*api.MiB
	})
	res := a.MustExec(t, w.ID, api.Exec{Argv: []string{"python3", "-c", ctypes + `
open("/etc/owned", "w").close()
print(tries(os.chown, "/etc/owned", 33, 44), tries(os.setresuid, 5, 5, 5), os.getuid())`}})
	if got := strings.TrimSpace(string(res.Stdout)); got != "1 1 1000" {
		t.Errorf("a writable root without own_image: %s, %q (stderr %q)", res.Verdict, got, res.Stderr)
	}
}

// OWN-12: what a program that is called root may not, the kernel refuses it, too: in profile mode log all calls are made.
func TestHostileOwnImageWithoutTheFilter(t *testing.T) {
	a := harness.StartAgent(t)
	s := ownImage(t, a, func(s *api.SessionRequest) { s.ProfileMode = api.Log })
	res := a.MustExec(t, s.ID, api.Exec{Argv: []string{"python3", "-c", ctypes + `
open("/etc/owned", "w").close()
ns = os.open("/proc/self/ns/user", os.O_RDONLY)
mnt = os.open("/proc/self/ns/mnt", os.O_RDONLY)
for name, got in (
    ("user namespaces: unshare, clone", (call(272, 0x10000000), call(56, 0x10000011, 0, 0, 0, 0))), # ENOSPC
    ("mount and pid namespaces", (call(272, 0x20000), call(272, 0x20000000))),
    ("setns", (call(308, ns, 0), call(308, mnt, 0))),
    ("mount, umount2, chroot, pivot_root", (call(165, b"none", b"/box", b"tmpfs", 0, 0), call(166, b"/proc", 2), call(161, b"/tmp"), call(155, b"/", b"/"))),
    ("chown to another, to itself, of a device", (tries(os.chown, "/etc/owned", 33, 44), tries(os.chown, "/etc/owned", 0, 0), tries(os.chown, "/dev/null", 0, 0))),
    ("setresuid, setgroups", (tries(os.setresuid, 5, 5, 5), tries(os.setgroups, [1]), tries(os.setresuid, 0, 0, 0))),
    ("devices and a whiteout", tuple(tries(os.mknod, "/root/n%d" % d[0], m | 0o600, os.makedev(*d)) for m, d in
        ((stat.S_IFCHR, (1, 3)), (stat.S_IFBLK, (7, 0)), (stat.S_IFCHR, (0, 0))))),
    ("attributes of an overlay", tuple(tries(os.setxattr, "/etc/owned", "trusted.overlay." + n, b"y") for n in ("redirect", "opaque", "metacopy", "whiteout"))),
    ("capset, securebits, ambient", (call(126, (0x20080522).to_bytes(8, "little"), b"\xff"*24), call(157, 28, 0, 0, 0, 0), call(157, 47, 2, 21, 0, 0))),
    ("sethostname, ptrace of 1, settimeofday", (call(170, b"x", 1), call(101, 16, 1, 0, 0), call(164, b"\0"*16, 0))),
    ("kill 1, swapon", (tries(os.kill, 1, 9), call(167, b"/etc/owned", 0))),
): print(name, *got)
`}})
	want := `user namespaces: unshare, clone 28 28
mount and pid namespaces 1 1
setns 22 1
mount, umount2, chroot, pivot_root 1 1 1 1
chown to another, to itself, of a device 22 0 30
setresuid, setgroups 22 1 0
devices and a whiteout 1 1 1
attributes of an overlay 1 1 1 1
capset, securebits, ambient 1 1 1
sethostname, ptrace of 1, settimeofday 1 1 1
kill 1, swapon 1 1
`
	if res.Verdict != api.OK || !strings.HasPrefix(string(res.Stdout), want) {
		t.Errorf("%s: %s\n%s; want\n%s", res.Verdict, res.Stdout, res.Stderr, want)
	}
}

// OWN-06: files of the image that a program changes are copied, and the copies are the session's: its scratch, its
// inodes, its memory.
func TestHostileCopiesOfOwnImage(t *testing.T) {
	a := harness.StartAgent(t)
	touch := ctypes + `
n = 0
for d, _, files in os.walk("/usr"):
    for f in files:
        p = os.path.join(d, f)
        if os.path.islink(p): continue
        e = tries(lambda: open(p, "r+b").close())
        if e == 28: print("ENOSPC", n > 0); sys.exit(3)
        n += e == 0
print("all", n > 100)`
	run := func(l api.Limits) api.Result {
		t.Helper()
		s := ownImage(t, a, func(s *api.SessionRequest) { s.Limits = l })
		return a.MustExec(t, s.ID, api.Exec{Argv: []string{"python3", "-c", touch}})
	}

	for name, tt := range map[string]struct {
		limits api.Limits
		hit    string
	}{
		"bytes":  {api.Limits{Memory: 512 * api.MiB, Scratch: 8 * api.MiB}, ""}, // a copy that does not fit leaves nothing
		"inodes": {api.Limits{Memory: 512 * api.MiB, Scratch: 512 * api.MiB, Inodes: 100}, api.HitInodes},
	} {
		res := run(tt.limits)
		if string(res.Stdout) != "ENOSPC True\n" || tt.hit != "" && !slices.Contains(res.LimitsHit, tt.hit) {
			t.Errorf("%s: %s, %q, limits_hit %v (stderr %.300q)", name, res.Verdict, res.Stdout, res.LimitsHit, res.Stderr)
		}
	}
	if res := run(api.Limits{Memory: 40 * api.MiB, Scratch: 512 * api.MiB}); res.Verdict != api.MemoryLimit {
		t.Errorf("copies of more than the memory: %s, %q", res.Verdict, res.Stdout)
	}
	if res := run(api.Limits{Memory: 512 * api.MiB, Scratch: 512 * api.MiB}); res.Verdict != api.OK || string(res.Stdout) != "all True\n" {
		t.Errorf("copies within the limits: %s, %q (stderr %.300q)", res.Verdict, res.Stdout, res.Stderr)
	}
}

// OWN-09: the agent's access by absolute paths is that of the program: to all files of the image, and to none of the
// cell's own processes.
func TestPathsOfOwnImage(t *testing.T) {
	a := harness.StartAgent(t)
	s := ownImage(t, a, nil)
	p := a.Paths(s.ID)
	for _, path := range []string{"/app/a/b", "/etc/passwd", "/root/x", "/tests/t.sh"} {
		if err := p.Put(t.Context(), path, "", strings.NewReader("put")); err != nil {
			t.Errorf("put %s: %v", path, err)
		}
		if st, err := p.Status(t.Context(), path, false); err != nil || st.Owner != "root" || st.UID != 0 || st.Group != "root" {
			t.Errorf("stat %s: %+v, %v", path, st, err)
		}
	}
	a.WantOutput(t, s.ID, "cat /app/a/b /etc/passwd; stat -c '%u %g %a' /app/a/b", "putput0 0 644\n")
	if err := p.Remove(t.Context(), "/usr/share", true); err != nil {
		t.Errorf("remove /usr/share: %v", err)
	}

	for _, path := range []string{"/proc/1/root/etc/x", "/proc/1/environ", "/proc/sys/kernel/hostname", "/dev/x", "/dev/null"} {
		if err := p.Put(t.Context(), path, "", strings.NewReader("x")); err == nil {
			t.Errorf("put %s: no error", path)
		}
	}
	if st, err := p.Status(t.Context(), "/dev/null", false); err != nil || st.UID != 65534 {
		t.Errorf("stat of a file that the program does not own: %+v, %v", st, err)
	}
}
