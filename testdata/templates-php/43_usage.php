<?php
var_dump(memory_get_usage(), memory_get_peak_usage(), memory_get_usage(true));
