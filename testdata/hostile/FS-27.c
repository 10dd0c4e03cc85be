#define ID "FS-27"
#include "probe.h"
#include <sys/file.h>
int main(void) {
	const char *path[] = {"/etc/passwd", "/proc/self/ns/uts"}; char n[60];
	for (int i = 0; i < 2; i++) {
		int f = open(path[i], O_RDONLY); struct flock l = {.l_type = F_RDLCK};
#define EACH(name, call) snprintf(n, 60, name " %s", i ? "ns" : "rootfs"), TRY(n, call)
		EACH("flock", flock(f, LOCK_EX | LOCK_NB)); EACH("setlk", fcntl(f, F_SETLK, &l)); EACH("ofd", fcntl(f, F_OFD_SETLK, &l));
		EACH("lease", fcntl(f, F_SETLEASE, F_RDLCK)); EACH("notify", fcntl(f, F_NOTIFY, DN_ACCESS));
	}
	return 0;
}
