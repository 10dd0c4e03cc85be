#include <stdio.h>
#include "seven.h"

int main(void) { printf("%d from another file\n", seven()); }
