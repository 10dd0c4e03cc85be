#define ID "RES-22"
#include "probe.h"
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/utsname.h>
static void look(const char *d) { DIR *D = opendir(d); struct dirent *e; while (D && (e = readdir(D))) if (e->d_name[0] != '.' || strlen(e->d_name) > 2) printf("found %s/%s\n", d, e->d_name); }
int main(void) { struct utsname u; look("/box"); look("/tmp"); look("/dev/shm"); look("/dev/mqueue");
	TRY("shmget", shmget(0x42, 4096, 0)); TRY("msgget", msgget(0x42, 0)); TRY("semget", semget(0x42, 1, 0)); uname(&u); printf("host %s\n", u.nodename);
	DIR *D = opendir("/proc"); struct dirent *e; while ((e = readdir(D))) if (e->d_name[0] >= '0' && e->d_name[0] <= '9' && atoi(e->d_name) != getpid()) printf("process %s\n", e->d_name);
	return 0; }
