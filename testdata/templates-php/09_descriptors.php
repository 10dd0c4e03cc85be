<?php
var_dump(count(scandir("/proc/self/fd"))); $f = fopen(__FILE__, "r"); var_dump(array_values(array_filter(scandir("/proc/self/fd"), fn($x) => is_link("/proc/self/fd/$x") && readlink("/proc/self/fd/$x") == __FILE__)));
