<?php
var_dump(function_exists("opcache_get_status") && opcache_get_status(), extension_loaded("Zend OPcache"), gc_enabled(), zend_version(), PHP_ZTS, PHP_DEBUG);
