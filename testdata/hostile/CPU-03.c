#define ID "CPU-03"
#include "probe.h"
int main(void) { if (!fork()) for (;;); pause(); }
