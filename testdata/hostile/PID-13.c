#define ID "PID-13"
#include "probe.h"
int main(void) { TRY("mkdir", mkdir("/sys/fs/cgroup/brig-probe", 0700)); TRY("join", open("/sys/fs/cgroup/cgroup.procs", O_WRONLY)); TRY("dir", open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY)); return 0; }
