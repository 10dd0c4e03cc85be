package D; sub new { bless { n => $_[1] } } sub DESTROY { print "destroy $_[0]{n} ${^GLOBAL_PHASE}\n" }
package main; our $g = D->new("global"); my $l = D->new("lexical"); { my $i = D->new("inner"); }
my $c = D->new("cycle"); $c->{self} = $c; undef $c;
print "last\n";
