<?php
$o = new stdClass; $w = WeakReference::create($o); $m = new WeakMap; $m[$o] = 1; var_dump($w->get() === $o, count($m)); unset($o); var_dump($w->get(), count($m)); $a = fn() => static fn() => 1; var_dump($a()()); static fn() => 1; declare(ticks=1); register_tick_function(function () { static $n = 0; if ($n++ == 0) echo "tick\n"; }); $x = 1;
