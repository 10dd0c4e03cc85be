print "$_=$ENV{$_}\n" for sort keys %ENV;
$ENV{B} = "c"; delete $ENV{HOME};
print `env | sort`;
{ local $ENV{B} = "d"; print `echo \$B`; }
print `echo \$B`;
