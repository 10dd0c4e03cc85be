#include <iostream>
#include <string>

int main()
{
	std::wstring word;
	std::wcin >> word;
	std::wcout << L"hi " << word << std::endl;
	std::wclog << L"";
}
