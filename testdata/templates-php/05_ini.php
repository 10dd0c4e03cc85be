<?php
foreach (ini_get_all() as $k => $v) echo $k, "=", var_export($v, true), "\n";
