#include <bits/stdc++.h>

int main() {
	std::smatch found;
	const std::string text = "the year 2026 in a text";
	std::regex_search(text, found, std::regex("[0-9]{4}"));
	std::cout << "regex " << found[0] << '\n';

	setenv("TZ", "Asia/Tokyo", 1);
	const std::time_t noon = 1767268800; // 2026-01-01 12:00 UTC
	std::cout << "zone " << std::put_time(std::localtime(&noon), "%H:%M") << '\n';

	std::random_device device;
	std::mt19937 generator(device());
	const int n = std::uniform_int_distribution<>(1, 6)(generator);
	std::cout << (n >= 1 && n <= 6 ? "random ok\n" : "random out of bounds\n");

	char back[8] = "";
	FILE *f = std::tmpfile();
	if (!f || std::fputs("temp ok", f) < 0) return 1;
	std::rewind(f);
	if (!std::fgets(back, sizeof back, f)) return 1;
	std::cout << back << '\n';
}
