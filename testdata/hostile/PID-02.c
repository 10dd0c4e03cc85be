#define ID "PID-02"
#include "probe.h"
#include <pthread.h>
static void *park(void *x) { pause(); return 0; }
int main(void) { pthread_attr_t a; pthread_t t; int n = 0, e; pthread_attr_init(&a); pthread_attr_setstacksize(&a, 1 << 16); while (n < 150 && !(e = pthread_create(&t, &a, park, 0))) n++; errno = e; report("thread", e ? -1 : 0); printf("threads %d\n", n); return 0; }
