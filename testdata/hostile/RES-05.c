#define ID "RES-05"
#include "probe.h"
#include <mqueue.h>
#include <semaphore.h>
// POSIX queues and named semaphores: under the name that the previous run used, and listed.
static void list(const char *dir) { DIR *d = opendir(dir); struct dirent *e; while (d && (e = readdir(d))) if (e->d_name[0] != '.') printf("listed %s/%s\n", dir, e->d_name); }
int main(void) { TRY("mq_open", mq_open("/RESIDUE", O_RDONLY | O_NONBLOCK)); TRY("sem_open", sem_open("/RESIDUE", 0) == SEM_FAILED ? -1 : 0); list("/dev/shm"); list("/dev/mqueue"); return 0; }
