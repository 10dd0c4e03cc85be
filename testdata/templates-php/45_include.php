<?php
echo include "helper.php", "\n"; require_once "helper.php"; var_dump(get_included_files()); var_dump(@include "none.php"); echo helper(1), "\n"; require "none.php";
