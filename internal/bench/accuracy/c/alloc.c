// Uses a known amount of memory in a known way: alloc WAY MIB. It prints its
// ru_maxrss in bytes, which is the value that other judges report.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void fill(int fd, size_t n)
{
	static char block[1 << 16];
	memset(block, 7, sizeof block);
	for (size_t done = 0; done < n; done += sizeof block)
		if (write(fd, block, sizeof block) != sizeof block)
			_exit(3);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const char *way = argv[1];
	size_t n = strtoul(argv[2], 0, 10) << 20;
	char *p = 0;
	if (!strcmp(way, "heap")) {
		p = malloc(n + 1);
	} else if (!strcmp(way, "box") || !strcmp(way, "shm")) {
		int fd = open(!strcmp(way, "box") ? "/box/big" : "/dev/shm/big", O_CREAT | O_RDWR, 0600);
		if (fd < 0)
			return 3;
		fill(fd, n);
	} else if (!strcmp(way, "mapped")) { // a private file, written through a mapping
		int fd = open("/box/big", O_CREAT | O_RDWR, 0600);
		if (fd < 0 || ftruncate(fd, n + 4096))
			return 3;
		p = mmap(0, n + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	} else if (!strcmp(way, "shared")) { // shared memory, touched by parent and child
		p = mmap(0, n + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p != MAP_FAILED && fork() == 0) {
			memset(p, 1, n);
			_exit(0);
		}
		wait(0);
	} else if (!strcmp(way, "children")) { // four concurrent ones, a quarter each
		for (int i = 0; i < 4; i++)
			if (fork() == 0) {
				memset(malloc(n / 4 + 1), 1, n / 4);
				usleep(200000);
				_exit(0);
			}
		while (wait(0) > 0) {}
	} else {
		return 2;
	}
	if (p == MAP_FAILED)
		return 3;
	if (p)
		memset(p, 1, n);
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	printf("%ld\n", u.ru_maxrss << 10);
	return 0;
}
