#include <iostream>
#include <string>

int main() {
	std::cout << "grün 日本 😀\n";
	std::string line;
	std::getline(std::cin, line);
	std::cout << line << '\n';
}
