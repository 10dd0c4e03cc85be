#include <stdio.h>
static int deep(int n) { volatile int here = n; return n == 0 ? 0 : deep(n - 1) + (here >= 0); }
int main(void) { printf("%d\n", deep(100000)); }
