#define ID "FIO-02"
#include "probe.h"
int main(int c, char **v) { *strrchr(v[1], '/') = 0; TRY("dir link", symlink(v[1], "d")); TRY("parent link", symlink("../..", "up")); TRY("through", open("d/secret", O_RDONLY)); mkdir("real", 0700); close(open("real/x", O_CREAT | O_WRONLY, 0600)); return 0; }
