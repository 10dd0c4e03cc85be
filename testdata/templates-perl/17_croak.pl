use Carp;
sub f { Carp::cluck("here @_") } sub g { f(1, "two", [3]) } g();
$SIG{ALRM} = sub { Carp::confess("alarm") }; kill ALRM => $$; sleep 1;
