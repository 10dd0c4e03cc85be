// A program like those that a task's tests run: it computes, takes memory, reads and writes a file
// and has a child, for some tens of milliseconds.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  size_t n = 2 << 20;
  unsigned *p = malloc(n * sizeof *p), sum = 1;
  char buf[4096];
  for (int round = 0; round < 12; round++)
    for (size_t i = 0; i < n; i++) p[i] = sum = sum * 1664525u + 1013904223u + (unsigned)i;
  int fd = open("out.txt", O_CREAT | O_RDWR, 0600);
  memset(buf, 'x', sizeof buf);
  for (int i = 0; i < 256; i++) if (write(fd, buf, sizeof buf) != sizeof buf) return 1;
  lseek(fd, 0, SEEK_SET);
  while (read(fd, buf, sizeof buf) > 0) sum += buf[7];
  int status, pid = fork();
  if (pid == 0) _exit(7);
  if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7) return 1;
  printf("%u\n", sum);
  return 0;
}
