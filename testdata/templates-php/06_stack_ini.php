<?php
ini_set("memory_limit", "64M"); var_dump(ini_get("memory_limit"), ini_get("error_reporting"), ini_get("display_errors"), set_time_limit(5), error_reporting(), sys_get_temp_dir());
