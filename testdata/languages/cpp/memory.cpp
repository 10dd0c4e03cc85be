#include <list>
#include <vector>

int main() {
	std::list<std::vector<char>> kept;
	for (;;) kept.emplace_back(1 << 20, 'x');
}
