print `PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 $^X -e 'my \%h = map { \$_ => 1 } "a".."j"; print keys \%h'`, "\n";
