<?php
var_dump(readlink("/proc/self/exe"));
