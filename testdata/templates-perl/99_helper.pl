sub helper { my @c = caller; "helper @_ from $c[1]:$c[2] " . __FILE__ } "value\n";
