<?php
var_dump(ini_get("zend.assertions")); assert(false); echo "after\n";
