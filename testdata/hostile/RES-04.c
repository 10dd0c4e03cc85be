#define ID "RES-04"
#include "probe.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
// System V objects: under the key of the previous run, and the counts of the tables.
int main(void) { struct shm_info sh = {0}; struct seminfo se = {0}; struct msginfo ms = {0};
	TRY("shmget", shmget(0x42, 4096, 0)); TRY("msgget", msgget(0x42, 0)); TRY("semget", semget(0x42, 1, 0));
	if (shmctl(0, SHM_INFO, (void *)&sh) >= 0) printf("used shm %d\n", sh.used_ids);
	if (semctl(0, 0, SEM_INFO, &se) >= 0) printf("used sem %d\n", se.semusz);
	if (msgctl(0, MSG_INFO, (void *)&ms) >= 0) printf("used msg %d\n", ms.msgpool);
	return 0; }
