#define ID "CAP-10"
#include "probe.h"
extern char **environ; int main(void) { for (char **e = environ; *e; e++) printf("env %.*s\n", (int)(strchr(*e, '=') - *e), *e); printf("%s", ""); for (char **e = environ; *e; e++) puts(*e); return 0; }
