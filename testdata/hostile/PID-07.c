#define ID "PID-07"
#include "probe.h"
int main(int c, char **v) { puts("begin"); fflush(stdout); signal(SIGTERM, SIG_IGN); TRY("kill -1 TERM", kill(-1, SIGTERM)); TRY("kill victim", kill(atoi(v[1]), SIGKILL)); TRY("kill 1", kill(1, SIGKILL)); if (!fork()) { kill(-1, SIGKILL); _exit(0); } sleep(1); kill(getpid(), SIGKILL); return 0; }
