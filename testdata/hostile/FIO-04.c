#define ID "FIO-04"
#include "probe.h"
#include <sys/un.h>
int main(void) { TRY("fifo", mkfifo("fifo", 0666)); TRY("dir", mkdir("dir", 0777)); int s = TRY("socket", socket(AF_UNIX, SOCK_STREAM, 0)); struct sockaddr_un a = {AF_UNIX, "sock"}; TRY("bind", bind(s, (void *)&a, sizeof a)); TRY("device", mknod("dev", S_IFCHR | 0666, 0x103)); close(open("plain", O_CREAT | O_WRONLY, 0600)); return 0; }
