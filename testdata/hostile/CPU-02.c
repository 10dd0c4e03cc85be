#define ID "CPU-02"
#include "probe.h"
int main(void) { usleep(900000); puts("slept"); return 0; }
