<?php
ob_start(fn($b) => strtoupper($b)); echo "upper\n"; ob_end_flush(); ob_start(); echo "x"; $x = ob_get_clean(); var_dump($x, ob_get_level()); ob_implicit_flush(); echo "end";
