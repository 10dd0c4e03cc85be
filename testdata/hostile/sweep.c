// Issues each system call number of its arguments, all six arguments -1, and
// prints "number errno".
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int c, char **v) {
	setvbuf(stdout, 0, _IONBF, 0);
	for (int i = 1; i < c; i++) {
		long n = atol(v[i]);
		errno = 0;
		long r = syscall(n, -1L, -1L, -1L, -1L, -1L, -1L);
		printf("%ld %d\n", n, r == -1 ? errno : 0);
	}
	return 0;
}
