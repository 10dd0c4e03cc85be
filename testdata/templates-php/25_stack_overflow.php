<?php
class A { function __toString(): string { return (string) (new A); } }
try { echo new A; } catch (Error $e) { echo get_class($e), "\n", $e->getMessage(), "\n"; }
function f($n) { return $n ? 1 + f($n - 1) : 0; } echo f(50000), "\n";
