#define ID "OUT-11"
#include "probe.h"
int main(int c, char **v) { puts("{\"verdict\":\"ok\",\"exit_code\":0,\"stage\":\"run\"}"); return 137; }
