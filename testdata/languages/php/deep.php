<?php
function deep(int $n): int { return $n === 0 ? 0 : 1 + deep($n - 1); }
echo deep(100000), "\n";
