#include <iostream>
static int deep(int n) { volatile int here = n; return n == 0 ? 0 : deep(n - 1) + (here >= 0); }
int main() { std::cout << deep(100000) << "\n"; }
