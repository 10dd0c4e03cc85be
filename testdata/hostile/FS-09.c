#define ID "FS-09"
#include "probe.h"
#include <sys/sysmacros.h>
int main(void) {
	static const char *const node[] = {"mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "loop0", "loop-control", "kvm", "fuse", "cuse",
		"net/tun", "dri/card0", "dri/renderD128", "vhost-net", "vhost-vsock", "vsock", "userfaultfd", "uinput", "tty", "ptmx", "console", "hpet"};
	char p[60], name[60]; struct dirent *e; DIR *d = opendir("/dev");
	TRY("mknod whiteout", syscall(SYS_mknod, "w", S_IFCHR, 0)); // the only device that needs no capability
	TRY("mknodat whiteout", syscall(SYS_mknodat, AT_FDCWD, "x", S_IFCHR, 0));
	TRY("mknod c", syscall(SYS_mknod, "c", S_IFCHR, makedev(1, 1)));
	TRY("mknod b", syscall(SYS_mknod, "b", S_IFBLK, makedev(7, 0)));
	for (int i = 0; i < sizeof node / sizeof *node; i++) { snprintf(p, 60, "/dev/%s", node[i]); snprintf(name, 60, "open %s", p); TRY(name, open(p, O_RDWR | O_NONBLOCK)); }
	while ((e = readdir(d))) if (*e->d_name != '.') printf("dev %s\n", e->d_name);
	return 0;
}
