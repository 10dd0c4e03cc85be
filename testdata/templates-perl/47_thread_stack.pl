use threads; print threads->get_stack_size, "\n"; sub f { $_[0] ? f($_[0] - 1) : "bottom" } no warnings; print threads->create(sub { f(10000) })->join, "\n";
