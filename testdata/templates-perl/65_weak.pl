use Scalar::Util qw(weaken refaddr); my $a = {}; my $b = $a; weaken $b; undef $a; print defined $b ? 1 : 0, "\n"; print refaddr({}) > 0 ? 1 : 0, " ", ("" . {}) =~ /^HASH\(0x/ ? 1 : 0, "\n";
