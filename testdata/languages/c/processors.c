#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>

int main(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) != sysconf(_SC_NPROCESSORS_ONLN) || get_nprocs() != CPU_COUNT(&set))
        return 1;
    printf("processors %d\n", get_nprocs());
}
