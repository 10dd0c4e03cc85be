// A small program: adds up the numbers from 1 to its argument, and writes the sum.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long sum = 0;
	for (long i = 1; i <= (argc > 1 ? atol(argv[1]) : 0); i++)
		sum += i;
	printf("%ld\n", sum);
	return 0;
}
