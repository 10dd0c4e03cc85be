#include <bits/stdc++.h>

int main() { std::cout << "hello, world\n"; }
