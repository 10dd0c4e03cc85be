#include <iostream>
#include "seven.hpp"

int main() { std::cout << seven() << " from another file\n"; }
