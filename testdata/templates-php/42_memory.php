<?php
$s = str_repeat("a", 50000000); $l = range(1, 500000); echo strlen($s), array_sum($l), "\n"; unset($s, $l); gc_collect_cycles(); var_dump(memory_get_usage() < 2000000, gc_status()["runs"]);
