<?php
var_dump($argc, $argv, $_SERVER['argv'], $_SERVER['argc'], __FILE__, __DIR__, __LINE__, PHP_BINARY, PHP_SAPI, PHP_VERSION, PHP_OS, getcwd(), get_included_files(), php_ini_loaded_file(), php_ini_scanned_files());
