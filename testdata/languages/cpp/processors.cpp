#include <iostream>
#include <thread>

int main() { std::cout << "processors " << std::thread::hardware_concurrency() << '\n'; }
