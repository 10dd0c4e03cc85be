srand(42); print join(" ", map { int rand 1000 } 1 .. 10), "\n"; use List::Util "shuffle"; srand(1); print join(" ", shuffle 1 .. 10), "\n";
