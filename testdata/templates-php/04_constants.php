<?php
print_r(array_map(fn($x) => array_keys($x), get_defined_constants(true))); print_r(get_loaded_extensions()); print_r(count(get_declared_classes())); print_r(count(get_defined_functions()["internal"]));
