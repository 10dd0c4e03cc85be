#define ID "FS-34"
#include "probe.h"
#include <sys/inotify.h>
// FS-26 under the tier of the JVM and Node, which any caller may name.
int main(void) { int f = TRY("inotify_init1", inotify_init1(0)); TRY("inotify_add_watch", inotify_add_watch(f, "/", IN_ALL_EVENTS)); TRY("inotify_init", syscall(SYS_inotify_init)); TRY("dnotify", syscall(SYS_fcntl, open("/", O_RDONLY), 1026L, 1L)); return 0; }
