#define ID "SEC-07"
#include "probe.h"
#include <pthread.h>
static void *bad(void *x) { usleep(50000); __asm__ volatile("int $0x80" : : "a"(20) : "memory"); return 0; }
int main(void) { pthread_t t; puts("begin"); fflush(stdout); pthread_create(&t, 0, bad, 0); sleep(30); puts("slept"); return 0; }
