#define ID "SEC-21"
#include "probe.h"
#include <sys/sendfile.h>
#include <sys/uio.h>
int main(void) { int p[2], q[2], f = open("/proc/self/exe", O_RDONLY), g = open("out", O_CREAT | O_RDWR, 0600); pipe(p); pipe(q); write(p[1], "abc", 3); struct iovec v = {"x", 1};
	TRY("splice", splice(f, 0, q[1], 0, 10, 0)); TRY("tee", tee(p[0], q[1], 2, 0)); TRY("vmsplice", vmsplice(p[1], &v, 1, 0)); TRY("sendfile", sendfile(g, f, 0, 10)); TRY("copy_file_range", copy_file_range(f, 0, g, 0, 10, 0)); return 0; }
