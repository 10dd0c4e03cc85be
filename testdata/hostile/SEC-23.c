#define ID "SEC-23"
#include "probe.h"
// Each denied action through every call that performs it: a signal to the host's process, a mode
// change of a shared file, a file in the shared tree.
int main(int c, char **v) { long p = atol(v[1]); int f = open("/", O_RDONLY | O_DIRECTORY); siginfo_t s; memset(&s, 0, sizeof s); s.si_code = SI_QUEUE; struct { unsigned long long a, b, r; } how = {O_CREAT | O_WRONLY, 0600, 0};
	TRY("signal kill", syscall(SYS_kill, p, 15L)); TRY("signal tkill", syscall(SYS_tkill, p, 15L)); TRY("signal tgkill", syscall(SYS_tgkill, p, p, 15L)); TRY("signal queue", syscall(SYS_rt_sigqueueinfo, p, 15L, &s)); TRY("signal tgqueue", syscall(SYS_rt_tgsigqueueinfo, p, p, 15L, &s)); TRY("pidfd", syscall(434L, p, 0L));
	TRY("mode chmod", syscall(SYS_chmod, "/", 0755L)); TRY("mode fchmod", syscall(SYS_fchmod, f, 0755L)); TRY("mode fchmodat", syscall(SYS_fchmodat, AT_FDCWD, "/", 0755L)); TRY("mode fchmodat2", syscall(452L, AT_FDCWD, "/", 0755L, 0L));
	TRY("file creat", syscall(SYS_creat, "/brig-probe", 0600L)); TRY("file open", syscall(SYS_open, "/brig-probe", O_CREAT | O_WRONLY, 0600L)); TRY("file openat", syscall(SYS_openat, AT_FDCWD, "/brig-probe", O_CREAT | O_WRONLY, 0600L)); TRY("file openat2", syscall(437L, AT_FDCWD, "/brig-probe", &how, sizeof how));
	TRY("clone3", syscall(SYS_clone3, 0L, 0L)); return 0; }
