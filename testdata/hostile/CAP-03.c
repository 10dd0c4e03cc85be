#define ID "CAP-03"
#include "probe.h"
#include <linux/capability.h>
#include <linux/securebits.h>
#include <grp.h>
#include <sys/prctl.h>
int main(void) { gid_t g[2] = {0, 1}; struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0}; struct __user_cap_data_struct d[2] = {{~0u, ~0u, 1 << CAP_CHOWN}, {0, 0, 0}};
	if (syscall(SYS_capget, &h, d)) memset(d, 0, sizeof d); // refused: as if there were none
	d[0].inheritable |= 1 << CAP_CHOWN; d[0].permitted |= 1 << CAP_CHOWN; d[0].effective |= 1 << CAP_CHOWN;
	TRY("setgroups", setgroups(2, g)); TRY("setgid 0", syscall(SYS_setgid, 0)); TRY("setregid 0", syscall(SYS_setregid, 0, 0)); TRY("setresgid 0", syscall(SYS_setresgid, 0, 0, 0));
	TRY("setuid 0", syscall(SYS_setuid, 0)); TRY("setreuid 0", syscall(SYS_setreuid, 0, 0)); TRY("setresuid 0", syscall(SYS_setresuid, 0, 0, 0));
	TRY("capset", syscall(SYS_capset, &h, d)); TRY("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0)); TRY("securebits", prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP)); TRY("keepcaps", prctl(PR_SET_KEEPCAPS, 1));
	printf("ids %d %d %d %d\n", getuid(), geteuid(), getgid(), getegid()); return 0; }
