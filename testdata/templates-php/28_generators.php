<?php
function g() { $x = yield 1; echo "got $x\n"; yield from [2, 3]; return 4; } $g = g(); echo $g->current(); $g->send("a"); foreach ($g as $v) echo $v; echo $g->getReturn(), "\n";
