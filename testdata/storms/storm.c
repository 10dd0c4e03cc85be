// The ways in which one run can affect its neighbours' processor time. The first argument selects
// one.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends(void *unused) { return 0; }
static void spin(void) { for (volatile long i = 0;; i++) ; }

// crowd starts n processes that each execute one function forever.
static void crowd(int n, void (*one)(void)) {
  for (int i = 0; i < n; i++)
    if (fork() == 0) { one(); _exit(0); }
  for (;;) pause();
}

static void forks(void) {
  for (;;) {
    int pid = fork();
    if (pid == 0) _exit(0);
    if (pid > 0) waitpid(pid, 0, 0);
  }
}
static void threads(void) {
  static char stack[16384];
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  for (;;)
    if (clone(ends, stack + sizeof stack - 64, flags, 0) < 0) sched_yield();
}
static void spins8(void) { // threads of one process, each of which counts as a process
  static char stacks[8][16384];
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  for (int i = 0; i < 7; i++) clone((int (*)(void *))spin, stacks[i] + sizeof stacks[i] - 64, flags, 0);
  spin();
}
static void barriers(void) { for (;;) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0); }
static void expedited(void) {
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
  for (;;) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}
static void bind_to(int cpu) { // fails where the run has not that processor
  unsigned long mask = 1UL << cpu;
  syscall(SYS_sched_setaffinity, 0, sizeof mask, &mask);
}
static void spin_on_the_second(void) { bind_to(1); spin(); }
// Two threads of one process, each on a processor where it can, and barriers between them. They bind themselves: a
// scheduler may leave both on one for seconds.
static void privates(void) {
  static char stack[16384];
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  bind_to(0);
  clone((int (*)(void *))spin_on_the_second, stack + sizeof stack - 64, flags, 0);
  for (;;)
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)) _exit(4);
}
// Moves itself from one processor to the next, without end: the kernel's own threads do that.
static void steers(void) {
  for (int cpu = 0;; cpu = (cpu + 1) % 64) {
    unsigned long mask = 1UL << cpu;
    syscall(SYS_sched_setaffinity, 0, sizeof mask, &mask);
  }
}
static void kills(void) { signal(SIGUSR1, SIG_IGN); for (;;) kill(-1, SIGUSR1); }
static void renames(void) {
  close(open("/tmp/a", O_CREAT | O_RDWR, 0600));
  mkdir("/tmp/d", 0700);
  for (;;) { rename("/tmp/a", "/tmp/d/a"); rename("/tmp/d/a", "/tmp/a"); }
}
static char *self;
static void execs(void) {
  for (;;) {
    int pid = vfork();
    if (pid == 0) { execl(self, self, "end", (char *)0); _exit(1); }
    waitpid(pid, 0, 0);
  }
}
static void memory(void) {
  size_t n = 256 << 20;
  char *p = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) _exit(3);
  for (;;) memset(p, 1, n);
}
static void writes(void) { for (;;) if (write(1, "x", 1) < 0) _exit(0); }
static void looks(void) {
  char name[64];
  struct stat st;
  for (long i = 0;; i++) { snprintf(name, sizeof name, "/usr/none-%ld", i); stat(name, &st); }
}

int main(int argc, char **argv) {
  const struct { const char *name; int n; void (*one)(void); } storms[] = {
    {"spin", 8, spin}, {"spin-90", 90, spin}, {"spin-threads", 8, spins8}, {"fork", 60, forks}, {"thread", 60, threads},
    {"barrier", 40, barriers}, {"expedited", 4, expedited}, {"private", 8, privates}, {"steer", 8, steers},
    {"kill", 90, kills}, {"rename", 1, renames}, {"exec", 20, execs},
    {"memory", 1, memory}, {"write", 4, writes}, {"lookup", 8, looks},
  };
  if (argc < 2) return 2;
  self = argv[0];
  if (argc > 2) { // left behind: the parent must end
    if (fork()) return 0;
    setsid();
    for (int fd = 0; fd < 3; fd++) close(fd);
  }
  for (unsigned i = 0; i < sizeof storms / sizeof *storms; i++)
    if (!strcmp(argv[1], storms[i].name)) crowd(storms[i].n, storms[i].one);
  return strcmp(argv[1], "end") ? 2 : 0;
}
