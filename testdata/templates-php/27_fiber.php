<?php
$f = new Fiber(function ($x) { $y = Fiber::suspend($x + 1); echo "got $y\n"; return "r"; }); var_dump($f->start(1), $f->resume("b"), $f->getReturn()); function deep($n) { return $n ? deep($n - 1) : Fiber::suspend("deep"); } $g = new Fiber("deep"); var_dump($g->start(1000));
