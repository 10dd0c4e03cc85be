%ENV = ();
print `/usr/bin/env`;
$ENV{PATH} = "/usr/bin:/bin";
print `env`;
