#define ID "CPU-01"
#include "probe.h"
int main(void) { for (;;); }
