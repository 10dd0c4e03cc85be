#define ID "PID-10"
#include "probe.h"
int main(int c, char **v) { puts("begin"); fflush(stdout); raise(atoi(v[1])); puts("survived"); return 0; }
