<?php
if (!function_exists("helper")) { function helper($x) { return "helped $x " . basename(__FILE__) . count(debug_backtrace()); } }
echo "helper ", basename($_SERVER["SCRIPT_NAME"]), " ", $argc, "\n";
return "value";
