use threads; use threads::shared; my $n :shared = 0;
$_->join for map { threads->create(sub { lock $n; $n += $_[0] }, $_) } 1 .. 10; print "$n\n";
my ($r) = threads->create({ context => "list" }, sub { return "from ", threads->tid })->join; print "$r\n";
