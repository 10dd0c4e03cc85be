#define ID "FS-26"
#include "probe.h"
#include <sys/inotify.h>
#include <sys/fanotify.h>
int main(void) { TRY("inotify_init", syscall(SYS_inotify_init)); int f = TRY("inotify_init1", inotify_init1(0)); TRY("inotify_add_watch", inotify_add_watch(f, "/", IN_ALL_EVENTS)); return 0; }
