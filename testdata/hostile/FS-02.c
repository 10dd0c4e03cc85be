#define ID "FS-02"
#include "probe.h"
#include <sys/mount.h>
int main(void) {
	mkdir("m", 0700);
	TRY("mount tmpfs", mount("none", "m", "tmpfs", 0, 0));
	TRY("mount proc", mount("none", "/proc", "proc", 0, 0));
	TRY("remount", mount(0, "m", 0, MS_REMOUNT | MS_BIND, 0));
	TRY("remount /", mount(0, "/", 0, MS_REMOUNT | MS_BIND, 0));
	TRY("bind", mount("/etc", "m", 0, MS_BIND, 0));
	TRY("move", mount("m", "/tmp", 0, MS_MOVE, 0));
	TRY("umount", umount2("/tmp", MNT_DETACH));
	TRY("umount /proc", umount2("/proc", MNT_DETACH));
	TRY("share", mount(0, "m", 0, MS_SHARED, 0));
	TRY("pivot_root", syscall(SYS_pivot_root, "m", "m"));
	return 0;
}
