#define ID "CPU-04"
#include "probe.h"
#include <pthread.h>
static void *spin(void *x) { for (;;); }
int main(void) { pthread_t t; for (int i = 0; i < 8; i++) pthread_create(&t, 0, spin, 0); pause(); }
