#include <iostream>
#include <thread>

int main() {
	std::jthread t([] { std::cout << "from a thread\n"; });
}
