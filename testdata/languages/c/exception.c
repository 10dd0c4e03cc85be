#include <stdio.h>
#include <stdlib.h>

int main(void) {
	fputs("boom\n", stderr);
	abort();
}
