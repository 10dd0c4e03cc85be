<?php
function g($n) { usort($GLOBALS["a"], function ($x, $y) use ($n) { return $n ? g($n - 1) : 0; }); return 0; } $a = [1, 2]; g(500); echo "done\n";
