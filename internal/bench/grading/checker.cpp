// A checker of the protocol testlib: input, output, answer; 0 accepted, 1 wrong, 3 its own failure.
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char **argv)
{
	if (argc < 4)
		return 3;
	std::ifstream output(argv[2]), answer(argv[3]);
	std::string got, expected;
	long words = 0;
	while (answer >> expected) {
		words++;
		if (!(output >> got) || got != expected) {
			std::cerr << "word " << words << " differs\n";
			return 1;
		}
	}
	if (output >> got)
		return 1;
	std::cerr << "ok " << words << " words\n";
	return 0;
}
