#include <bits/stdc++.h>
namespace fs = std::filesystem;

int main() {
	std::ofstream("a.txt") << "hello";
	std::ofstream("a.txt", std::ios::app) << ", world";
	fs::rename("a.txt", "b.txt");
	fs::create_directories("d/e");
	fs::copy_file("b.txt", "d/b.txt");
	fs::create_symlink("b.txt", "d/soft");
	fs::create_hard_link("b.txt", "d/hard");
	fs::resize_file("d/b.txt", 5);
	fs::permissions("d/b.txt", fs::perms::owner_read | fs::perms::owner_write);
	fs::last_write_time("d/b.txt", fs::file_time_type::clock::now());
	const auto n = std::distance(fs::recursive_directory_iterator("d"), fs::recursive_directory_iterator());
	fs::current_path("d");
	std::string text;
	std::getline(std::ifstream("soft"), text);
	fs::current_path("..");
	const bool room = fs::space(".").available > 0;
	if (n != 4 || text != "hello" || !room || fs::remove_all("d") != 5 || std::remove("b.txt") || fs::exists("d")) return 1;
	std::puts("files ok");
}
