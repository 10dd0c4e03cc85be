#include <string>

int main() { std::string s = 3.5; }
