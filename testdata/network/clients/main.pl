use HTTP::Tiny;
print HTTP::Tiny->new->get($ARGV[0])->{content};
