#include "seven.hpp"

int seven() { return 7; }
