#include <iostream>
#include <thread>

int main() {
	std::thread t([] { std::cout << "from a thread\n"; });
	t.join();
}
