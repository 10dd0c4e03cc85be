#include <codecvt>
#include <fstream>
#include <iostream>
#include <locale>
#include <sstream>
#include <string>

int main()
{
	std::locale::global(std::locale(""));
	std::wcin.imbue(std::locale());
	std::wcout.imbue(std::locale());
	std::wstring line;
	std::getline(std::wcin, line);
	std::wofstream("t") << line << L'\n';
	std::wifstream file("t");
	std::wstring again;
	std::getline(file, again);
	std::wostringstream text;
	text << again << L' ' << 1.5;
	std::wcout << line.size() << L' ' << text.str() << std::endl;
	std::wstring_convert<std::codecvt_utf8<wchar_t>> utf8;
	std::wcout << utf8.from_bytes("\xc3\xa9").size() << std::endl;
}
